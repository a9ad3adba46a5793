//! Settings that a person names, to be tried with one event after another.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde_json::Value;
use vertebra_kit::mcp::Servers;

use super::{
    fire::fire,
    handler::{Level, Plugin},
    run::Session,
    settings::{Settings, is_skill},
};
use crate::{trust::Seals, wire::Judgement};

/// Settings that a person names, and where they are tried.
pub struct Trial {
    settings: Settings,
    session: Session,
    /// Whether the project is where the settings say, or where the event does.
    is_placed: bool,
    /// Where commands leave variables for later ones; it goes with this.
    folder: Option<tempfile::TempDir>,
}

impl Trial {
    /// These files together, each at the level that its place says: `.claude/settings.json` of the home is the user's,
    /// of another folder the project's; `hooks/hooks.json` is a plugin's; a `SKILL.md`, and what is in a folder `agents`, has
    /// hooks in its front matter; anything else is as named with `--settings`.
    ///
    /// No server is connected, and no model is asked: handlers that need one fail, and say so.
    pub fn new(files: &[PathBuf], folder: &Path, home: Option<&Path>, variables: Vec<(OsString, OsString)>) -> Self {
        let mut settings = Settings::default();
        let (mut project, mut plugins) = (None, Vec::new());
        for file in files {
            // What is relative is meant from here, and a plugin is found by its whole path.
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            match place(&file, home) {
                Place::Plugin(root) => plugins.push(root),
                Place::FrontMatter => settings.add_front_matter_of(&file, Level::CommandLine),
                Place::Level(level, root) => {
                    project = root.or(project);
                    settings.add_file(&file, level);
                }
            }
        }
        for root in plugins {
            let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let data = home.unwrap_or(folder).join(".claude/plugins/data").join(&name);
            let options = settings.plugin_options(&name);
            settings.add_plugin(Plugin { name, root, data, options });
        }
        let kept = tempfile::tempdir().ok();
        let session = Session {
            project: project.clone().unwrap_or_else(|| folder.to_owned()),
            home: home.map(Path::to_owned),
            variables,
            is_attended: true,
            servers: Servers::default(),
            model: None,
            env_file: kept.as_ref().map(|kept| kept.path().join("env.sh")),
            // Whoever names a file trusts it.
            seals: Seals::default(),
        };
        Self { settings, session, is_placed: project.is_some(), folder: kept }
    }

    /// What was not understood.
    pub fn warnings(&self) -> &[String] {
        &self.settings.warnings
    }

    /// What comes of an event.
    pub async fn fire(&self, event: &Value) -> Judgement {
        let mut session = self.session.clone();
        let cwd = event.get("cwd").and_then(Value::as_str).map(PathBuf::from).filter(|cwd| cwd.is_dir());
        // A session that has gone down into a folder began above it.
        let elsewhere = cwd.filter(|cwd| !cwd.starts_with(&session.project));
        if let (Some(cwd), false) = (elsewhere, self.is_placed) {
            session.project = cwd;
        }
        if let Some(folder) = &self.folder {
            // One trial leaves nothing for the next.
            let _ = std::fs::remove_file(folder.path().join("env.sh"));
        }
        fire(&self.settings, event, &session).await
    }
}

enum Place {
    Level(Level, Option<PathBuf>),
    /// A plugin, by its folder.
    Plugin(PathBuf),
    /// A skill or an agent.
    FrontMatter,
}

fn place(file: &Path, home: Option<&Path>) -> Place {
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default().to_owned()
    };
    let (folder, above) = (file.parent(), file.parent().and_then(Path::parent));
    match (&*name(folder), &*name(Some(file))) {
        ("hooks", "hooks.json") => Place::Plugin(above.map(Path::to_owned).unwrap_or_default()),
        ("agents", _) => Place::FrontMatter,
        _ if is_skill(file) => Place::FrontMatter,
        ("managed-settings.d", _) | (_, "managed-settings.json") => Place::Level(Level::Managed, None),
        (".claude", "settings.json") if above.is_some() && above == home => Place::Level(Level::User, None),
        (".claude", "settings.json") => Place::Level(Level::Project, above.map(Path::to_owned)),
        (".claude", "settings.local.json") => Place::Level(Level::Local, above.map(Path::to_owned)),
        _ => Place::Level(Level::CommandLine, None),
    }
}
