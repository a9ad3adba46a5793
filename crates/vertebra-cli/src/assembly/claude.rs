//! Claude Code's settings in the built-in agent: those of the machine and the user, and those of a trusted project.

use std::path::{Path, PathBuf};

use vertebra_bridge::{
    claude::{ClaudeHooks, Follow, Level, MANAGED, Places, Session, Settings},
    trust::unreadable,
};
use vertebra_kit::{mcp::Servers, permissions::Rules};

use super::{Brought, World};

/// Reads Claude Code's settings. Those of a project are the trusted text and are not read again.
pub(crate) fn settings(brought: &Brought, world: &World) -> Settings {
    let mut settings = Settings::read(&places(world));
    for (path, text) in &brought.claude {
        settings.add_project_text(text, path);
    }
    // The user's own skills and agents come first, in the order in which they are loaded.
    for path in world.config.iter().flat_map(|config| own_front_matter(config)) {
        settings.add_front_matter_of(&path, Level::User);
    }
    for (path, text) in &brought.front_matter {
        settings.add_front_matter(text, path, Level::Project);
    }
    settings
}

/// Returns where the settings of the machine and the user are.
fn places(world: &World) -> Places {
    let home = world.variables.get("HOME").map(PathBuf::from);
    Places { managed: MANAGED.into(), home, project: None }
}

/// Returns the user's skills and agents, in the order in which they are loaded.
fn own_front_matter(config: &Path) -> Vec<PathBuf> {
    let entries = |folder: &str| {
        let listed = std::fs::read_dir(config.join(folder)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    entries("skills").into_iter().map(|folder| folder.join("SKILL.md")).chain(entries("agents")).collect()
}

/// Claude Code's settings, ready for an agent.
pub(super) struct Installed {
    /// The hooks and rules, if there are any.
    pub(super) hooks: Option<ClaudeHooks>,
    /// What was not understood.
    pub(super) notices: Vec<String>,
    /// A file of which nothing is used. Calls that may change something then need approval.
    pub(super) broken: Option<String>,
}

/// Returns the hooks from Claude Code's settings.
pub(super) fn hooks(folder: &Path, brought: &Brought, servers: Servers, rules: &Rules, world: &World) -> Installed {
    let places = places(world);
    let settings = settings(brought, world);
    let broken = settings.broken().map(unreadable);
    if settings.files().next().is_none() && broken.is_none() {
        return Installed { hooks: None, notices: settings.warnings, broken };
    }
    let kept = world.state.clone().unwrap_or_else(std::env::temp_dir).join("claude-code");
    let env_file = kept.join(format!("env-{}.sh", std::process::id()));
    // If this fails, the hook that needs the file reports it.
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
    let store = world.store();
    let follow = Follow::new(places, folder.to_owned(), store, brought.claude.clone());
    let hooks = ClaudeHooks::new(settings, session, kept.join("transcripts")).permissions(rules.clone());
    let hooks = hooks.following(follow);
    let notices = hooks.warnings();
    Installed { hooks: Some(hooks), notices, broken }
}
