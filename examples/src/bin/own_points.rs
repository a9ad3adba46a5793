//! A custom point: a deploy tool lets hooks look at a deployment before it happens, as the runtime does for calls.
//!
//! Run it with `cargo run -p vertebra-examples --bin own_points`.

use std::error::Error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vertebra::{AttributeValue, Event, MemoryJournal, What, point, prelude::*, testing::Script, verdict};
use vertebra_bridge::{
    handler::Services,
    policy::Policy,
    settings::{Level, parse_with},
};

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

point! {
    /// A service is about to be deployed.
    BeforeDeploy: Deployment => DeployVerdict {
        aliases: ["PreDeploy"],
        attributes: [service: Name, environment: Word],
        changes: ["replicas"],
        sample: Deployment { service: "shop".to_owned(), environment: "staging".to_owned(), replicas: 2 },
    }
}

/// The tool, and the place where it fires its point.
async fn deploy(deployment: Deployment, invocation: Invocation) -> Result<String, ToolError> {
    let (deployment, outcome) = invocation.fire(BeforeDeploy, deployment).await?;
    println!("{}: {outcome}", deployment.service);
    match outcome.verdict() {
        DeployVerdict::Deny { reason } => Err(ToolError::new(reason)),
        DeployVerdict::Proceed | DeployVerdict::Skip => Ok(format!("{} replicas", deployment.replicas)),
    }
}

/// A rule of people who write no Rust.
const POLICY: &str = r#"
[[hook]]
name  = "no-vault"
point = "before_deploy"
match = { service = "vault-*", environment = "production" }
deny  = "the vault is deployed by hand"
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new()
        .calls([
            ("deploy", r#"{"service": "shop", "environment": "staging"}"#),
            ("deploy", r#"{"service": "bank", "environment": "production", "replicas": 1}"#),
            ("deploy", r#"{"service": "vault-eu", "environment": "production", "replicas": 3}"#),
        ])
        .say("The shop is up, the others are not.");

    let journal = MemoryJournal::default();
    let mut builder = Agent::builder(model);
    builder
        .tool(tool("deploy", "Deploys a service", deploy))
        .point(BeforeDeploy)
        .journal(journal.clone())
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
        .watch(AfterToolUse, async |cx| println!("  the model reads: {}", cx.result.output));

    // The same point in a file.
    let mut points = vertebra::Points::default();
    points.add(vertebra::AnyPoint::new(&BeforeDeploy))?;
    let settings = parse_with(POLICY, Level::User, "vertebra.toml", &points)?.settings;
    builder.hooks(Policy::new(&settings, &Services::default())?.hook_set());

    let run = builder.build()?.run("Deploy the shop, the bank and the vault.").await?;
    println!("{}: {}", run.status, run.text);

    for line in journal.entries() {
        if let What::Dispatched { record, .. } = line.what
            && record.point == BeforeDeploy::NAME
        {
            println!("in the journal: {record}");
        }
    }
    Ok(())
}
