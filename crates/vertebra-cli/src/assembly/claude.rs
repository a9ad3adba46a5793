//! Claude Code's settings in the built-in agent: the machine's and the person's, and the project's if it is trusted.

use std::path::{Path, PathBuf};

use vertebra_bridge::claude::{ClaudeHooks, Level, MANAGED, Places, Session, Settings};
use vertebra_kit::{mcp::Servers, permissions::Rules};

use super::{Brought, World};

/// What Claude Code's settings say. What a project says is taken as it was when it was trusted, and not read again.
pub(crate) fn settings(brought: &Brought, world: &World) -> Settings {
    let home = world.variables.get("HOME").map(PathBuf::from);
    let mut settings = Settings::read(&Places { managed: MANAGED.into(), home, project: None });
    for (path, text) in &brought.claude {
        let is_local = path.ends_with("settings.local.json");
        settings.add_text(text, path, if is_local { Level::Local } else { Level::Project });
    }
    settings
}

/// The hooks of Claude Code's settings, and what of them was not understood; none if there are no settings.
pub(super) fn hooks(
    folder: &Path,
    brought: &Brought,
    servers: Servers,
    rules: &Rules,
    world: &World,
) -> (Option<ClaudeHooks>, Vec<String>) {
    let settings = settings(brought, world);
    if settings.files().next().is_none() {
        return (None, settings.warnings);
    }
    let kept = world.state.clone().unwrap_or_else(std::env::temp_dir).join("claude-code");
    let env_file = kept.join(format!("env-{}.sh", std::process::id()));
    // What cannot be made here fails where it is needed, in words of the hook that needs it.
    let _ = std::fs::create_dir_all(&kept);
    let _ = std::fs::remove_file(&env_file);
    let session = Session {
        project: folder.to_owned(),
        home: world.variables.get("HOME").map(PathBuf::from),
        variables: world.variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        is_attended: world.is_interactive,
        servers,
        model: None,
        env_file: Some(env_file),
        seals: brought.seals.clone(),
    };
    let hooks = ClaudeHooks::new(settings, session, kept.join("transcripts")).permissions(rules.clone());
    let warnings = hooks.warnings();
    (Some(hooks), warnings)
}
