//! Claude Code's settings in the built-in agent: the machine's and the person's, and the project's if it is trusted.

use std::path::{Path, PathBuf};

use vertebra_bridge::claude::{ClaudeHooks, Level, MANAGED, Places, Session, Settings};
use vertebra_kit::{mcp::Servers, permissions::Rules};

use super::{Brought, World};

/// The hooks of Claude Code's settings, and what of them was not understood; none if there are no settings.
pub(super) fn hooks(
    folder: &Path,
    brought: &Brought,
    servers: Servers,
    rules: &Rules,
    world: &World,
) -> (Option<ClaudeHooks>, Vec<String>) {
    let home = world.variables.get("HOME").map(PathBuf::from);
    let places =
        Places { managed: MANAGED.into(), home: home.clone(), project: trusts_project.then(|| folder.to_owned()) };
    let settings = Settings::read(&places);
    if settings.files().next().is_none() {
        return (None, settings.warnings);
    }
    let kept = world.state.clone().unwrap_or_else(std::env::temp_dir).join("claude-code");
    let session = Session {
        project: folder.to_owned(),
        home,
        variables: world.variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        is_attended: world.is_interactive,
        servers,
        model: None,
        env_file: Some(kept.join(format!("env-{}.sh", std::process::id()))),
        seals: brought.seals.clone(),
    };
    let hooks = ClaudeHooks::new(settings, session, kept.join("transcripts")).permissions(rules.clone());
    let warnings = hooks.warnings();
    (Some(hooks), warnings)
}
