//! A point of one's own: a deploy tool lets hooks look at a deployment before it happens, as the runtime does for calls.
//!
//! Run it with `cargo run -p vertebra-examples --bin own_points`.

use std::error::Error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vertebra::{Attribute, AttributeValue, Bare, Event, PatternKind, prelude::*, testing::Script, verdict};

/// What hooks see, and may change.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Deployment {
    service: String,
    environment: String,
    #[serde(default)]
    replicas: u32,
}

impl Event for Deployment {
    /// What matchers may test.
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        match key {
            "service" => Some(AttributeValue::Text(&self.service)),
            "environment" => Some(AttributeValue::Text(&self.environment)),
            _ => None,
        }
    }
}

verdict! {
    /// What hooks may answer. An answer that is not in this list does not compile at this point.
    enum DeployVerdict { deny }
}

/// The point: its type is its name.
#[derive(Clone, Copy)]
struct BeforeDeploy;

impl Point for BeforeDeploy {
    const NAME: &'static str = "BeforeDeploy";
    type Event = Deployment;
    type State = Bare;
    type Verdict = DeployVerdict;
    /// How matchers test it. A matcher on any other attribute is an error at registration.
    const ATTRIBUTES: &'static [Attribute] = &[
        Attribute { key: "service", kind: PatternKind::Name },
        Attribute { key: "environment", kind: PatternKind::Word },
    ];
}

/// The tool, and the place where it fires its point.
async fn deploy(mut deployment: Deployment, invocation: Invocation) -> Result<String, ToolError> {
    let outcome = invocation.run().hooks().fire(BeforeDeploy, &mut deployment).await;
    println!("{}: {outcome}", deployment.service);
    match outcome.verdict() {
        DeployVerdict::Deny { reason } => Err(ToolError::new(reason)),
        DeployVerdict::Proceed | DeployVerdict::Skip => Ok(format!("{} replicas", deployment.replicas)),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .calls([
            ("deploy", r#"{"service": "shop", "environment": "staging"}"#),
            ("deploy", r#"{"service": "bank", "environment": "production", "replicas": 1}"#),
        ])
        .say("The shop is up, the bank is not.");

    let agent = Agent::builder(model)
        .tool(tool("deploy", "Deploys a service", deploy))
        .on(BeforeDeploy.when(|deployment| deployment.replicas == 0).named("two-by-default"), async |cx| {
            cx.replicas = 2;
            proceed()
        })
        .guard(
            BeforeDeploy.matching(Matcher::attribute("environment", "production")).named("enough-replicas"),
            async |cx| {
                if cx.replicas < 3 { deny("production needs three replicas") } else { proceed() }
            },
        )
        .watch(AfterToolUse, async |cx| {
            println!("  the model reads: {}", cx.result.output);
            Ok(())
        })
        .build()?;

    let run = agent.run("Deploy the shop and the bank.").await?;
    println!("{}: {}", run.status, run.text);
    Ok(())
}
