//! Building an agent.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use vertebra_hooks::{Attach, HookFn, HookSet, Hooks};

use crate::{
    AfterStep, AfterToolUse, Agent, AgentPoint, Approver, BeforeStep, BeforeToolUse, BuildError, Capability, Clock,
    Compactor, ErrorPolicy, Ids, Journal, Kit, Limits, Model, NoJournal, Points, PromptSubmit, RandomIds, SharedModel,
    ShouldContinue, SystemClock, Tool, agent::Core, timeline::redaction::Veils, tool::check::Checks,
    tool::registry::Tools,
};

/// Collects what an agent is made of. Hooks are attached as described at [`Attach`].
///
/// Like `std::process::Command`, it is changed in place: keep it in a variable, or go from `Agent::builder` to
/// [`build`](Self::build) in one expression. A function that returns a builder ends in [`take`](Self::take).
pub struct AgentBuilder {
    kit: Kit,
    /// All but what the kit brings.
    core: Core,
    built: bool,
    /// Whether it builds a child of a run. The run chooses the tools of the child, so hooks may name tools that are missing.
    is_child: bool,
}

impl AgentBuilder {
    pub(crate) fn new(model: impl Model) -> Self {
        Self::of(Core {
            name: "agent".into(),
            model: Arc::new(model),
            tools: Arc::default(),
            system_prompt: "".into(),
            working_directory: None,
            limits: Limits::default(),
            retry_limit: 3,
            continuation_limit: 25,
            max_depth: 3,
            max_result_bytes: 100 * 1024,
            drain_time: Duration::from_secs(5),
            error_policy: ErrorPolicy::default(),
            approval_timeout: Duration::from_mins(10),
            wait_limit: Duration::from_hours(24 * 7),
            approver: None,
            journal: Arc::new(NoJournal),
            compactor: None,
            clock: Arc::new(SystemClock::default()),
            ids: Arc::new(RandomIds),
            veils: Veils::default(),
            checks: Checks::default(),
            points: Points::default(),
        })
    }

    /// An agent like this one, but without its tools, hooks, instructions and limits.
    pub(crate) fn like(core: &Core) -> Self {
        let mut like = Self::of(Core { system_prompt: "".into(), limits: Limits::none(), ..core.clone() });
        like.kit.compactor.clone_from(&core.compactor);
        like.is_child = true;
        like
    }

    fn of(core: Core) -> Self {
        Self { kit: Kit::default(), core, built: false, is_child: false }
    }

    /// The builder itself, so that a function can return it at the end of a chain. What it was taken from builds no agent.
    ///
    /// ```
    /// # use vertebra::{Agent, AgentBuilder, testing::Script};
    /// fn base() -> AgentBuilder {
    ///     Agent::builder(Script::new().say("hello")).name("base").max_steps(3).take()
    /// }
    /// let agent = base().system_prompt("Be brief.").build()?;
    /// # agent; Ok::<(), vertebra::BuildError>(())
    /// ```
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self {
            kit: std::mem::take(&mut self.kit),
            core: self.core.clone(),
            built: std::mem::replace(&mut self.built, true),
            is_child: self.is_child,
        }
    }

    /// Asks another model.
    pub fn model(&mut self, model: impl Model) -> &mut Self {
        self.core.model = Arc::new(model);
        self
    }

    /// Adds a capability: its tools and its hooks.
    pub fn with(&mut self, capability: impl Capability) -> &mut Self {
        capability.install(&mut self.kit);
        for replace in self.kit.models.drain(..) {
            self.core.model = replace(SharedModel(self.core.model.clone()));
        }
        self
    }

    /// Adds a tool.
    pub fn tool(&mut self, tool: impl Tool) -> &mut Self {
        self.kit.tool(tool);
        self
    }

    /// Registers a point of your own, which [`Invocation::fire`](crate::Invocation::fire) and [`Run::fire`](crate::Run::fire)
    /// fire: declare it with [`point!`](crate::point!). From then on, files and clients can register hooks there. A name that
    /// another point has is an error when the agent is built. Subagents know the points of their parent.
    pub fn point<P: AgentPoint>(&mut self, point: P) -> &mut Self {
        self.kit.point(point);
        self
    }

    /// Registers points that were collected elsewhere, such as those that a file declares.
    pub fn points(&mut self, points: &Points) -> &mut Self {
        self.kit.points(points);
        self
    }

    /// Adds hooks that were collected elsewhere.
    pub fn hooks(&mut self, set: HookSet) -> &mut Self {
        self.kit.hooks.append(set);
        self
    }

    /// Names the agent, for records and people.
    pub fn name(&mut self, name: impl Into<Arc<str>>) -> &mut Self {
        self.core.name = name.into();
        self
    }

    /// What models are told before the conversation.
    pub fn system_prompt(&mut self, text: impl Into<Arc<str>>) -> &mut Self {
        self.core.system_prompt = text.into();
        self
    }

    /// The folder the agent works in, as an absolute path: `/` unless it or a capability says so. A child works where its
    /// parent does.
    pub fn working_directory(&mut self, path: impl Into<Arc<str>>) -> &mut Self {
        self.kit.working_directory = Some(path.into());
        self
    }

    /// How much a run may use, all at once. By default 20 steps, 32 768 tokens and 300 s of active time.
    pub fn limits(&mut self, limits: Limits) -> &mut Self {
        self.core.limits = limits;
        self
    }

    /// How many steps a run may take.
    pub fn max_steps(&mut self, steps: u64) -> &mut Self {
        self.core.limits.steps = Some(steps);
        self
    }

    /// How many tokens a run may use.
    pub fn max_tokens(&mut self, tokens: u64) -> &mut Self {
        self.core.limits.tokens = Some(tokens);
        self
    }

    /// How long a run may work. Waiting for a person does not count.
    pub fn max_time(&mut self, time: Duration) -> &mut Self {
        self.core.limits.time = Some(time);
        self
    }

    /// How much money a run may cost, in millionths of a dollar.
    pub fn max_cost_micros(&mut self, cost: u64) -> &mut Self {
        self.core.limits.cost_micros = Some(cost);
        self
    }

    /// The moment after which a run begins no step.
    pub fn deadline(&mut self, deadline: Timestamp) -> &mut Self {
        self.core.limits.deadline = Some(deadline);
        self
    }

    /// How often hooks may have one operation retried; 3 unless told otherwise.
    pub fn retry_limit(&mut self, times: u32) -> &mut Self {
        self.core.retry_limit = times;
        self
    }

    /// How often hooks may make one run go on that would end; 25 unless told otherwise.
    pub fn continuation_limit(&mut self, times: u32) -> &mut Self {
        self.core.continuation_limit = times;
        self
    }

    /// How deep agents may delegate to agents; 3 unless told otherwise.
    pub fn max_depth(&mut self, depth: u32) -> &mut Self {
        self.core.max_depth = depth;
        self
    }

    /// How much of one tool's output a model reads; 100 KiB unless told otherwise.
    pub fn max_result_bytes(&mut self, bytes: usize) -> &mut Self {
        self.core.max_result_bytes = bytes;
        self
    }

    /// How long the end of a session waits for detached watches; 5 s unless told otherwise.
    pub fn drain_time(&mut self, time: Duration) -> &mut Self {
        self.core.drain_time = time;
        self
    }

    /// What is done about failures outside tools.
    pub fn error_policy(&mut self, policy: ErrorPolicy) -> &mut Self {
        self.core.error_policy = policy;
        self
    }

    /// Who decides when a hook asks. Without one, nobody says yes.
    pub fn approver(&mut self, approver: impl Approver) -> &mut Self {
        self.kit.approver(approver);
        self
    }

    /// How long a question may stay open; 10 minutes unless told otherwise. Then the answer is no.
    pub fn approval_timeout(&mut self, limit: Duration) -> &mut Self {
        self.core.approval_timeout = limit;
        self
    }

    /// How long a run that is suspended may wait for an answer; 7 days unless told otherwise. Then the answer is no.
    pub fn wait_limit(&mut self, limit: Duration) -> &mut Self {
        self.core.wait_limit = limit;
        self
    }

    /// Where runs are recorded.
    pub fn journal(&mut self, journal: impl Journal) -> &mut Self {
        self.core.journal = Arc::new(journal);
        self
    }

    /// Who makes conversations shorter.
    pub fn compactor(&mut self, compactor: impl Compactor) -> &mut Self {
        self.kit.compactor(compactor);
        self
    }

    /// Where time comes from.
    pub fn clock(&mut self, clock: impl Clock) -> &mut Self {
        self.core.clock = Arc::new(clock);
        self
    }

    /// Where identifiers come from.
    pub fn ids(&mut self, ids: impl Ids) -> &mut Self {
        self.core.ids = Arc::new(ids);
        self
    }

    /// Shorthand for `on(BeforeToolUse, …)`.
    #[track_caller]
    pub fn on_before_tool_use(&mut self, hook: impl HookFn<BeforeToolUse>) -> &mut Self {
        self.on(BeforeToolUse, hook)
    }

    /// Shorthand for `on(AfterToolUse, …)`.
    #[track_caller]
    pub fn on_after_tool_use(&mut self, hook: impl HookFn<AfterToolUse>) -> &mut Self {
        self.on(AfterToolUse, hook)
    }

    /// Shorthand for `on(BeforeStep, …)`.
    #[track_caller]
    pub fn on_before_step(&mut self, hook: impl HookFn<BeforeStep>) -> &mut Self {
        self.on(BeforeStep, hook)
    }

    /// Shorthand for `on(AfterStep, …)`.
    #[track_caller]
    pub fn on_after_step(&mut self, hook: impl HookFn<AfterStep>) -> &mut Self {
        self.on(AfterStep, hook)
    }

    /// Shorthand for `on(ShouldContinue, …)`.
    #[track_caller]
    pub fn on_should_continue(&mut self, hook: impl HookFn<ShouldContinue>) -> &mut Self {
        self.on(ShouldContinue, hook)
    }

    /// Shorthand for `on(PromptSubmit, …)`.
    #[track_caller]
    pub fn on_prompt(&mut self, hook: impl HookFn<PromptSubmit>) -> &mut Self {
        self.on(PromptSubmit, hook)
    }

    /// Builds the agent, once. The hooks are ordered and their patterns compiled here, so mistakes show here.
    ///
    /// A hook for a tool that the agent does not have is an error, unless it is
    /// [`optional`](vertebra_hooks::HookOptions::optional). An agent that delegates to others is not checked for that, nor is
    /// one without tools: the tool may be one of a child, or of the loop that [`HookableAgent`](crate::HookableAgent) wraps.
    pub fn build(&mut self) -> Result<Agent, BuildError> {
        // The tools and hooks are given to the agent: a second one would stand without its guards.
        if std::mem::replace(&mut self.built, true) {
            return Err(BuildError::AlreadyBuilt);
        }
        let Kit { tools, hooks, instructions, working_directory, approver, compactor, veils, checks, points, .. } =
            std::mem::take(&mut self.kit);
        let parts = std::iter::once(self.core.system_prompt.to_string()).chain(instructions);
        let system_prompt: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        let mut known = self.core.points.clone();
        points.into_iter().try_for_each(|point| known.add(point))?;
        let core = Core {
            points: known,
            tools: Arc::new(Tools::new(tools)?),
            system_prompt: system_prompt.join("\n\n").into(),
            working_directory,
            approver,
            compactor,
            veils,
            checks,
            ..self.core.clone()
        };
        let agent = Agent::new(core, Hooks::new(hooks)?);
        if !self.is_child {
            agent.check_tools()?;
        }
        for unmatched in agent.unmatched_tools() {
            tracing::warn!("{unmatched}");
        }
        Ok(agent)
    }
}

impl Attach for AgentBuilder {
    fn hook_set(&mut self) -> &mut HookSet {
        &mut self.kit.hooks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deny, testing::Script};

    #[test]
    fn no_agent_is_built_without_the_guards_that_an_earlier_one_took() {
        let mut builder = Agent::builder(Script::new());
        builder.guard(BeforeToolUse, async |_cx| deny("nothing at all"));

        assert_eq!(builder.build().expect("an agent with a guard").hooks().count(), 1);
        assert!(matches!(builder.build(), Err(BuildError::AlreadyBuilt)));
    }

    #[test]
    fn a_builder_that_was_taken_takes_its_guards_along() {
        let mut left = Agent::builder(Script::new());
        let mut taken = left.guard(BeforeToolUse, async |_cx| deny("nothing at all")).name("taken").take();

        let agent = taken.build().expect("an agent with a guard");
        assert_eq!((agent.name(), agent.hooks().count()), ("taken", 1));
        assert!(matches!(left.build(), Err(BuildError::AlreadyBuilt)));
    }
}
