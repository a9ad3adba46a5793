//! The names of what is exported: those of the `GenAI` conventions, and `vertebra.` where they have none.

// https://opentelemetry.io/docs/specs/semconv/gen-ai/, which calls itself experimental.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const MODEL: &str = "gen_ai.request.model";
pub(super) const FINISH: &str = "gen_ai.response.finish_reasons";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const CALL: &str = "gen_ai.tool.call.id";
pub(super) const INPUT: &str = "gen_ai.input.messages";
pub(super) const OUTPUT: &str = "gen_ai.output.messages";
pub(super) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const RESULT: &str = "gen_ai.tool.call.result";
pub(super) const ERROR: &str = "error.type";

pub(super) const RUN: &str = "vertebra.run.id";
pub(super) const DEPTH: &str = "vertebra.run.depth";
pub(super) const STATUS: &str = "vertebra.run.status";
pub(super) const STEPS: &str = "vertebra.run.steps";
pub(super) const STOP_REASON: &str = "vertebra.stop.reason";
pub(super) const STOP_SOURCE: &str = "vertebra.stop.source";
pub(super) const STEP: &str = "vertebra.step";
pub(super) const PURPOSE: &str = "vertebra.purpose";
pub(super) const COST: &str = "vertebra.cost_micros";
pub(super) const HALTED_BY: &str = "vertebra.halted_by";
pub(super) const TOOL_STATUS: &str = "vertebra.tool.status";
pub(super) const EXIT_CODE: &str = "vertebra.tool.exit_code";
pub(super) const EVENT: &str = "vertebra.event.id";
pub(super) const POINT: &str = "vertebra.hook.point";
pub(super) const VERDICT: &str = "vertebra.hook.verdict";
pub(super) const DECIDED_BY: &str = "vertebra.hook.decided_by";
pub(super) const REASON: &str = "vertebra.hook.reason";
pub(super) const COUNT: &str = "vertebra.hook.count";
pub(super) const FAILURES: &str = "vertebra.hook.failures";
pub(super) const HOOK: &str = "vertebra.hook.name";
pub(super) const ROLE: &str = "vertebra.hook.role";
pub(super) const RAN: &str = "vertebra.hook.ran";
pub(super) const CHANGED: &str = "vertebra.hook.changed";
pub(super) const SHADOW: &str = "vertebra.hook.shadow";
pub(super) const SECONDS: &str = "vertebra.hook.seconds";
pub(super) const ASKED_BY: &str = "vertebra.approval.asked_by";
pub(super) const ASKED_WHY: &str = "vertebra.approval.reason";
pub(super) const DECISION: &str = "vertebra.approval.decision";
pub(super) const ENTRY: &str = "vertebra.journal.entry";

/// A provider in the word of the conventions, where they have another one than we.
pub(super) fn provider(ours: &str) -> String {
    match ours {
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "bedrock" => "aws.bedrock",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "moonshot" => "moonshot_ai",
        other => other,
    }
    .to_owned()
}
