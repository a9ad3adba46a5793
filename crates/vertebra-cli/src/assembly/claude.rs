//! Claude Code's settings in the built-in agent: the machine's and the person's, and the project's if it is trusted.

use std::path::{Path, PathBuf};

use vertebra_bridge::{
    claude::{ClaudeHooks, Follow, Level, MANAGED, Places, Session, Settings},
    trust::Store,
};
use vertebra_kit::{mcp::Servers, permissions::Rules};

use super::{Brought, World};

/// What Claude Code's settings say. What a project says is taken as it was when it was trusted, and not read again.
pub(crate) fn settings(brought: &Brought, world: &World) -> Settings {
    let mut settings = Settings::read(&places(world));
    for (path, text) in &brought.claude {
        settings.add_project_text(text, path);
    }
    // A person's own skills and agents come first, as they do when they are loaded.
    for path in world.config.iter().flat_map(|config| own_front_matter(config)) {
        settings.add_front_matter_of(&path, Level::User);
    }
    for (path, text) in &brought.front_matter {
        settings.add_front_matter(text, path, Level::Project);
    }
    settings
}

/// Where the settings of the machine and of the person lie.
fn places(world: &World) -> Places {
    let home = world.variables.get("HOME").map(PathBuf::from);
    Places { managed: MANAGED.into(), home, project: None }
}

/// A person's skills and agents, in the order in which they are loaded.
fn own_front_matter(config: &Path) -> Vec<PathBuf> {
    let entries = |folder: &str| {
        let listed = std::fs::read_dir(config.join(folder)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    entries("skills").into_iter().map(|folder| folder.join("SKILL.md")).chain(entries("agents")).collect()
}

/// The hooks of Claude Code's settings, and what of them was not understood; none if there are no settings.
pub(super) fn hooks(
    folder: &Path,
    brought: &Brought,
    servers: Servers,
    rules: &Rules,
    world: &World,
) -> (Option<ClaudeHooks>, Vec<String>) {
    let places = places(world);
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
    let store = world.state.as_deref().map(Store::in_folder);
    let follow = Follow::new(places, folder.to_owned(), store, brought.claude.clone());
    let hooks = ClaudeHooks::new(settings, session, kept.join("transcripts")).permissions(rules.clone());
    let hooks = hooks.following(follow);
    let warnings = hooks.warnings();
    (Some(hooks), warnings)
}
