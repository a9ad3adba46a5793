//! The tools of an agent, by name, with their compiled schemas.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use jsonschema::Validator;

use crate::{AgentState, BuildError, Offer, SharedTool, ToolCall, ToolName, ToolSpec, tool::ErasedTool};

/// How long the arguments of one call may be.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// The tools of an agent.
#[derive(Default)]
pub(crate) struct Tools {
    by_name: BTreeMap<Arc<str>, Held>,
    offers: Arc<[Offer]>,
}

struct Held {
    tool: Arc<dyn ErasedTool>,
    spec: ToolSpec,
    validator: Validator,
}

impl Tools {
    pub(crate) fn new(tools: Vec<Arc<dyn ErasedTool>>) -> Result<Self, BuildError> {
        let mut by_name = BTreeMap::new();
        let mut offers = Vec::new();
        let mut taken = HashSet::new();
        for tool in tools {
            let spec = tool.spec();
            check_name(&spec.name)?;
            let validator = jsonschema::validator_for(&spec.schema)
                .map_err(|error| BuildError::Schema { tool: spec.name.to_string(), message: error.to_string() })?;
            offers.push(Offer {
                name: spec.name.clone(),
                description: spec.description.clone(),
                schema: spec.schema.clone(),
            });
            // Matchers compare without regard to case, so names must differ that way.
            let names = std::iter::once(&spec.name).chain(spec.aliases.iter()).map(|name| name.to_ascii_lowercase());
            for name in names.collect::<BTreeSet<_>>() {
                if !taken.insert(name.clone()) {
                    return Err(BuildError::DuplicateTool { name });
                }
            }
            by_name.insert(spec.name.clone(), Held { tool, spec, validator });
        }
        Ok(Self { by_name, offers: offers.into() })
    }

    /// The tools as a model sees them.
    pub(crate) fn offers(&self) -> &Arc<[Offer]> {
        &self.offers
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.by_name.values().map(|held| &held.spec)
    }

    /// The tools, in the order they were given.
    pub(crate) fn shared(&self) -> impl Iterator<Item = SharedTool> {
        self.offers.iter().filter_map(|offer| self.get(&offer.name)).map(|tool| SharedTool(tool.clone()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn ErasedTool>> {
        self.by_name.get(name).map(|held| &held.tool)
    }

    pub(crate) fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.by_name.get(name).map(|held| &held.spec)
    }

    /// The tool's own name, however the model spelled it.
    pub(crate) fn canonical(&self, name: &ToolName) -> ToolName {
        let held = self.by_name.get(&**name);
        let held = held.or_else(|| self.by_name.values().find(|held| held.spec.name.eq_ignore_ascii_case(name)));
        let known = |held: &&Held| held.spec.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name));
        let held = held.or_else(|| self.by_name.values().find(known));
        held.map_or_else(|| name.clone(), |held| held.spec.name.clone().into())
    }

    pub(crate) fn aliases(&self, name: &str) -> Arc<[Arc<str>]> {
        self.by_name.get(name).map(|held| held.spec.aliases.clone()).unwrap_or_default()
    }

    /// Where a call of the tool starts, if that is not the agent's working directory. A tool that panics does not know.
    pub(crate) fn folder(&self, name: &str, state: &AgentState) -> Option<Arc<str>> {
        let tool = self.get(name)?;
        std::panic::catch_unwind(AssertUnwindSafe(|| tool.folder(state))).ok()?.map(Into::into)
    }

    /// Why a call cannot be made, in words the model can use.
    pub(crate) fn check(&self, call: &ToolCall) -> Result<(), String> {
        let Some(held) = self.by_name.get(&*call.tool) else {
            let names: Vec<&str> = self.by_name.keys().map(|name| &**name).collect();
            return Err(format!("unknown tool `{}`. Known: {}", call.tool, names.join(", ")));
        };
        if let Some(text) = &call.malformed {
            let shown: String = text.chars().take(200).collect();
            return Err(format!("the arguments of `{}` are not a JSON object: {shown}", call.tool));
        }
        if call.args.weight() > MAX_ARGUMENT_BYTES {
            return Err(format!("the arguments of `{}` are longer than {MAX_ARGUMENT_BYTES} bytes", call.tool));
        }
        let args = call.args.to_value();
        if held.validator.is_valid(&args) {
            return Ok(());
        }
        let problems: Vec<String> = held
            .validator
            .iter_errors(&args)
            .take(5)
            .map(|error| match error.instance_path().to_string() {
                place if place.is_empty() => error.to_string(),
                place => format!("{place}: {error}"),
            })
            .collect();
        Err(format!("the arguments of `{}` do not fit: {}", call.tool, problems.join("; ")))
    }
}

/// What every provider accepts as a tool's name.
fn check_name(name: &str) -> Result<(), BuildError> {
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if fits { Ok(()) } else { Err(BuildError::ToolName { name: name.to_owned() }) }
}
