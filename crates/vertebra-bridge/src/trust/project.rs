//! The configuration in a project's folder, read once, so that what a person is shown is what takes effect.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use vertebra::shell::quote;

use super::{
    Standing,
    folder::{self, Folder},
    hooks::{self, ProjectHook},
    loads::{self, Ground, Loads},
    scan, scripts, seals,
};
use crate::{
    settings::{
        self, FILE_NAME, LOCAL_NAME, Level, ModelSettings, Salvaged, SettingsError, Sheet, parse, project_file,
        project_root,
    },
    shown,
};

/// Settings of Claude Code, whose hooks and permissions apply here too.
pub(crate) const CLAUDE: &[&str] = &[".claude/settings.json", ".claude/settings.local.json"];

/// Files with instructions for models.
const INSTRUCTIONS: &[&str] = &["AGENTS.md", "CLAUDE.md"];

/// Folders with skills, each in its own folder as `SKILL.md`.
const SKILLS: &[&str] = &[".vertebra/skills", ".agents/skills", ".claude/skills"];

/// Folders with agents, one file each.
const AGENTS: &[&str] = &[".vertebra/agents", ".claude/agents"];

/// The size limit of a file. A larger one is ignored.
const MAX_BYTES: u64 = 512 * 1024;

/// How many skills or agents a folder may have.
const MAX_FILES: usize = 256;

/// How many skipped hooks are listed by name.
const HOOKS_SHOWN: usize = 8;

/// How much of a fingerprint is shown.
const PRINT_SHOWN: usize = 16;

/// How many lines of instructions are shown in a question.
const LINES_SHOWN: usize = 5;

/// The configuration in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder to trust: the root of the repository, as a path without symbolic links.
    pub root: PathBuf,
    /// The folder inside it that was inspected.
    pub folder: PathBuf,
    /// The files that would take effect.
    pub files: Vec<ProjectFile>,
    /// The hooks that its settings define.
    pub hooks: Vec<ProjectHook>,
    /// The folders of skills. All their skills are among the files.
    pub skills: Vec<PathBuf>,
    /// The folders of agents. All their agents are among the files.
    pub agents: Vec<PathBuf>,
    /// What is ignored even in a trusted folder, and why.
    pub problems: Vec<String>,
    /// Scripts of hooks that cannot be trusted where they lie.
    pub misplaced: Vec<PathBuf>,
}

/// A file that would take effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The kind of the file.
    pub kind: Kind,
    /// Its path below the root.
    pub name: String,
    /// Its text. Empty for a script, which may be binary.
    pub text: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The hash of its kind and content. A file without a hash cannot be trusted.
    pub fingerprint: Option<String>,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `vertebra.toml`, `vertebra.local.toml`.
    Settings,
    /// `.claude/settings.json`, `.claude/settings.local.json`.
    Claude,
    /// `AGENTS.md`, `CLAUDE.md`.
    Instructions,
    /// A skill.
    Skill,
    /// A subagent.
    Agent,
    /// A file that a hook names.
    Script,
    /// A folder that holds a hook's script.
    Folder,
    /// A command of a hook that loads more than can be known.
    Open,
}

impl Kind {
    /// Returns the kind in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Claude => "claude",
            Self::Instructions => "instructions",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Script => "script",
            Self::Folder => "folder",
            Self::Open => "open",
        }
    }
}

impl Project {
    /// Reads the configuration of the project of this folder: in the folder and above it, up to the root of its repository.
    pub fn look(folder: &Path) -> io::Result<Self> {
        let mut project = Self::bare(fs::canonicalize(folder)?);
        project.settings_files();
        project.claude_files();
        project.instructions();
        project.skills = project.folders(SKILLS, Kind::Skill);
        project.agents = project.folders(AGENTS, Kind::Agent);
        project.scripts();
        Ok(project)
    }

    /// Reads only the policy: settings, and the scripts that their hooks name. A folder that does not exist has none.
    pub fn look_at_policy(folder: &Path) -> Self {
        let mut project = Self::bare(fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
        project.settings_files();
        project.scripts();
        project
    }

    /// Reads only these settings of a trusted folder, and the scripts that their hooks name.
    pub(super) fn look_at(root: &Path, folder: &Path, settings: &[&str]) -> Self {
        let mut project = Self::within(root.to_owned(), folder.to_owned());
        for name in settings {
            project.settings_file(&root.join(name));
        }
        project.scripts();
        project
    }

    /// Returns the names of settings that are deleted or empty, and of files that differ from the recorded ones.
    pub(super) fn unlike(&self, known: &BTreeMap<String, String>, settings: &[&str]) -> Vec<String> {
        let found = |name: &&&str| self.files.iter().any(|file| file.name == ***name);
        let gone = settings.iter().filter(|name| !found(name)).map(|name| (*name).to_owned());
        let is_other =
            |file: &&ProjectFile| known.get(&file.name).is_none_or(|print| Some(print) != file.fingerprint.as_ref());
        self.files.iter().filter(is_other).map(|file| file.name.clone()).chain(gone).collect()
    }

    fn bare(folder: PathBuf) -> Self {
        Self::within(project_root(&folder).to_owned(), folder)
    }

    fn within(root: PathBuf, folder: PathBuf) -> Self {
        Self {
            root,
            folder,
            files: Vec::new(),
            hooks: Vec::new(),
            skills: Vec::new(),
            agents: Vec::new(),
            problems: Vec::new(),
            misplaced: Vec::new(),
        }
    }

    /// Returns whether a settings file with this name would apply here but was not found: it is deleted, empty or unreadable.
    pub(super) fn misses(&self, name: &str) -> bool {
        let path = self.root.join(name);
        let is_settings = |file: &&str| path.file_name().is_some_and(|name| name == *file);
        let Some(file) = [FILE_NAME, LOCAL_NAME].into_iter().find(is_settings) else { return false };
        path.parent().is_some_and(|above| self.folder.starts_with(above))
            && self.files.iter().all(|file| file.name != name)
            && (path.symlink_metadata().is_err() || project_file(&self.folder, file).as_ref() == Some(&path))
    }

    /// Parses the settings files, the nearest last.
    pub fn settings(&self) -> Result<Vec<Sheet>, SettingsError> {
        self.of(Kind::Settings).map(|file| self.sheet(file)).collect()
    }

    /// Reads as much of the settings files as possible, the nearest last.
    pub(crate) fn salvaged(&self) -> Vec<Salvaged> {
        let level = |file: &ProjectFile| if file.name.ends_with(LOCAL_NAME) { Level::Local } else { Level::Project };
        let place = |file: &ProjectFile| self.root.join(&file.name).display().to_string();
        self.of(Kind::Settings).map(|file| settings::salvage(&file.text, level(file), &place(file))).collect()
    }

    /// Parses one settings file.
    fn sheet(&self, file: &ProjectFile) -> Result<Sheet, SettingsError> {
        let level = if file.name.ends_with(LOCAL_NAME) { Level::Local } else { Level::Project };
        parse(&file.text, level, &self.root.join(&file.name).display().to_string())
    }

    /// Returns whether all files that would take effect could be read.
    pub fn can_be_trusted(&self) -> bool {
        self.files.iter().all(|file| file.fingerprint.is_some())
    }

    /// Says what is ignored in a project that is not trusted, and which command trusts it. Skipped hooks come first and in
    /// capitals, because their author expects them to run.
    pub fn left_out(&self, standing: &Standing) -> String {
        let why = match standing {
            Standing::Changed(files) => {
                let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
                format!("changed since it was trusted ({})", files.join(", "))
            }
            Standing::Empty | Standing::Trusted | Standing::Unknown => "is not trusted".to_owned(),
        };
        let files: Vec<String> = self.files.iter().map(|file| shown(&file.name)).collect();
        let files = files.join(", ");
        let here = std::env::current_dir().and_then(|folder| folder.canonicalize());
        let dir = if here.is_ok_and(|here| here == self.folder) {
            String::new()
        } else {
            format!(" --dir {}", shown(&quote(&self.folder.to_string_lossy())))
        };
        let held = if matches!(standing, Standing::Changed(_)) {
            "What it refuses stays in force, and calls that change something need your approval. "
        } else {
            ""
        };
        let advice = format!("{held}To review and trust it, run: vertebra trust{dir}");
        let hooks: Vec<String> = self.hooks.iter().take(HOOKS_SHOWN).map(|hook| shown(&hook.name)).collect();
        let more = if self.hooks.len() > HOOKS_SHOWN { ", …" } else { "" };
        match self.hooks.len() {
            0 if files.is_empty() => format!("the folder {why}. {advice}"),
            0 => format!("ignored, because the folder {why}: {files}. {advice}"),
            count => format!(
                "SKIPPED {count} hook{}, because the folder {why}: {}{more}. Ignored files: {files}. {advice}",
                if count == 1 { "" } else { "s" },
                hooks.join(", "),
            ),
        }
    }

    /// Returns the files of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &ProjectFile> {
        self.files.iter().filter(move |file| file.kind == kind)
    }

    /// Lists exactly what would take effect, escaped for a terminal.
    pub fn effects(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for file in &self.files {
            let (name, bytes) = (shown(&file.name), file.bytes);
            match file.kind {
                Kind::Settings => match self.sheet(file) {
                    Ok(sheet) => {
                        lines.push(format!("{name} sets"));
                        lines.extend(
                            sheet
                                .entries
                                .iter()
                                .map(|entry| format!("  line {}: {} = {}", entry.line, entry.key, entry.value)),
                        );
                        lines.extend(elsewhere(&sheet.settings.model));
                    }
                    Err(error) => lines.push(format!("{name} cannot be used: {error}")),
                },
                Kind::Claude => {
                    lines.push(format!("{name} contains Claude Code settings ({bytes} bytes)"));
                    lines.extend(claude_rules(&file.text));
                }
                Kind::Instructions => {
                    lines.push(format!("{name} gives the model instructions ({bytes} bytes)"));
                    lines.extend(file.text.lines().take(LINES_SHOWN).map(|line| format!("  | {}", shown(line))));
                    if file.text.lines().nth(LINES_SHOWN).is_some() {
                        lines.push("  | …".to_owned());
                    }
                }
                Kind::Skill => lines.push(format!("{name} is a skill that the model may load ({bytes} bytes)")),
                Kind::Agent => lines.push(format!("{name} is an agent that the model may start ({bytes} bytes)")),
                Kind::Script | Kind::Folder | Kind::Open => {}
            }
            for hook in self.hooks.iter().filter(|hook| hook.file == file.name) {
                lines.push(format!("  hook {}: {}", shown(&hook.name), shown(&hook.does)));
                let scripts =
                    hook.scripts.iter().filter_map(|name| self.of(Kind::Script).find(|file| file.name == *name));
                lines.extend(scripts.map(|script| {
                    let print = script.fingerprint.as_ref().and_then(|print| print.get(..PRINT_SHOWN));
                    let print = print.unwrap_or("cannot be read, so this folder cannot be trusted");
                    format!("    script {} ({} bytes, {print})", shown(&script.name), script.bytes)
                }));
                let folders = self.of(Kind::Folder).filter(|folder| hook.folders.contains(&folder.name));
                lines.extend(folders.map(|folder| {
                    let print = folder.fingerprint.as_ref().and_then(|print| print.get(..PRINT_SHOWN));
                    let print = print.unwrap_or("cannot be trusted");
                    format!(
                        "    folder {} ({} bytes, {print}), which becomes read-only for the agent",
                        shown(&folder.name),
                        folder.bytes
                    )
                }));
                lines
                    .extend(hook.open.iter().map(|why| format!("    trusts whatever this tool loads: {}", shown(why))));
            }
        }
        lines
    }

    /// Reads the settings files.
    fn settings_files(&mut self) {
        let folder = self.folder.clone();
        for path in [FILE_NAME, LOCAL_NAME].iter().filter_map(|name| project_file(&folder, name)) {
            self.settings_file(&path);
        }
    }

    fn settings_file(&mut self, path: &Path) {
        let Some(file) = self.read(Kind::Settings, path) else { return };
        match self.sheet(&file) {
            // A file with only comments sets nothing, so it needs no trust.
            Ok(sheet) if sheet.entries.is_empty() => return,
            Ok(sheet) => {
                self.hooks.extend(sheet.settings.hooks.iter().map(|hook| hooks::of_settings(&file.name, hook)));
            }
            // The caller that uses the settings reports the error.
            Err(_) => {}
        }
        self.files.push(file);
    }

    fn claude_files(&mut self) {
        let folder = self.folder.clone();
        for path in CLAUDE.iter().filter_map(|name| project_file(&folder, name)) {
            let Some(file) = self.read(Kind::Claude, &path) else { continue };
            self.hooks.extend(hooks::of_claude(&file.name, &file.text));
            self.files.push(file);
        }
    }

    /// Reads the files that hooks name. A file that cannot be read has no hash, so the folder cannot be trusted.
    fn scripts(&mut self) {
        let mut hooks = std::mem::take(&mut self.hooks);
        for hook in &mut hooks {
            for path in scripts::named(&hook.words, &self.root, &[&self.folder], &|_| false) {
                let name = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned();
                if !self.of(Kind::Script).any(|file| file.name == name) {
                    let read = seals::fingerprint(&path);
                    if let Err(error) = &read {
                        self.problems.push(format!("{}: {error}", shown(&name)));
                    }
                    let (fingerprint, bytes) = read.map_or((None, 0), |(print, bytes)| (Some(print), bytes));
                    let (kind, text, name) = (Kind::Script, String::new(), name.clone());
                    self.files.push(ProjectFile { kind, name, text, bytes, fingerprint });
                }
                hook.scripts.push(name);
            }
            self.hook_folders(hook);
        }
        let scripts = self.of(Kind::Script).count();
        if scripts > scripts::MAX_SCRIPTS {
            self.problems
                .push(format!("hooks name {scripts} files, but at most {} can be checked", scripts::MAX_SCRIPTS));
            self.files.iter_mut().for_each(|file| file.fingerprint = None);
        }
        self.hooks = hooks;
    }

    /// Reads the folders of the scripts that a hook starts, and notes what it loads besides.
    fn hook_folders(&mut self, hook: &mut ProjectHook) {
        let Some(starts) = &hook.starts else { return };
        let mut scripts: Vec<PathBuf> = Vec::new();
        for folder in [&self.folder, &self.root] {
            let text = folder.to_string_lossy().into_owned();
            let value = |name: &str| match name {
                "HOME" => std::env::home_dir().map(|home| home.to_string_lossy().into_owned()),
                _ => (name == "PWD" || loads::PROJECT.contains(&name)).then(|| text.clone()),
            };
            let found = Loads::of(starts, &Ground { root: &self.root, folder, value: &value });
            scripts.extend(found.scripts.into_iter().map(|(_, path)| path));
            hook.open.extend(found.open);
        }
        for script in scripts {
            let shown_script = shown(&script.strip_prefix(&self.root).unwrap_or(&script).to_string_lossy());
            let (folder, read) = match folder::of_script(&script, &self.root, &self.folder) {
                Ok(folder) => {
                    let read = Folder::read(&folder);
                    (folder, read)
                }
                Err(why) => (script.parent().unwrap_or(&self.root).to_owned(), Err(why)),
            };
            if let Ok(read) = &read {
                for (name, bytes) in read.files() {
                    hook.open.extend(scan::reported(&folder, name, bytes, &self.root));
                }
            }
            let inner = folder.strip_prefix(&self.root).unwrap_or(&folder).to_string_lossy();
            let name = if inner.is_empty() { "./".to_owned() } else { format!("{inner}/") };
            if !hook.folders.contains(&name) {
                hook.folders.push(name.clone());
            }
            if let Err(why) = &read {
                self.misplaced.push(script.clone());
                self.problems.push(format!("{shown_script}: {why}"));
            }
            if !self.of(Kind::Folder).any(|file| file.name == name) {
                let bytes = read.as_ref().map_or(0, Folder::bytes);
                let fingerprint = read.ok().map(|read| read.fingerprint());
                self.files.push(ProjectFile { kind: Kind::Folder, name, text: String::new(), bytes, fingerprint });
            }
        }
        hook.open.sort();
        hook.open.dedup();
        let name = seals::open_name(starts);
        if !hook.open.is_empty() && !self.of(Kind::Open).any(|file| file.name == name) {
            let fingerprint = Some(blake3::hash(name.as_bytes()).to_hex().to_string());
            self.files.push(ProjectFile { kind: Kind::Open, name, text: String::new(), bytes: 0, fingerprint });
        }
    }

    fn instructions(&mut self) {
        let folder = self.folder.clone();
        for path in INSTRUCTIONS.iter().filter_map(|name| project_file(&folder, name)) {
            let Some(file) = self.read(Kind::Instructions, &path) else { continue };
            // Many projects have the same text under both names.
            if !self.of(Kind::Instructions).any(|other| other.text == file.text) {
                self.files.push(file);
            }
        }
    }

    /// Returns the folders whose files could all be read. A folder with a file that cannot be read is ignored entirely.
    fn folders(&mut self, names: &[&str], kind: Kind) -> Vec<PathBuf> {
        let mut whole = Vec::new();
        for name in names {
            let folder = self.root.join(name);
            let Ok(listed) = fs::read_dir(&folder) else { continue };
            let mut paths: Vec<PathBuf> =
                listed.take(MAX_FILES + 1).filter_map(|entry| Some(entry.ok()?.path())).collect();
            paths.sort();
            if paths.len() > MAX_FILES {
                self.problems.push(format!("{}: more than {MAX_FILES} entries", shown(&folder.to_string_lossy())));
                continue;
            }
            if kind == Kind::Skill {
                paths = paths.iter().map(|path| path.join("SKILL.md")).collect();
            }
            let problems = self.problems.len();
            for path in paths.iter().filter(|path| path.symlink_metadata().is_ok_and(|file| !file.is_dir())) {
                if let Some(file) = self.read(kind, path) {
                    self.hooks.extend(hooks::of_front_matter(&file.name, &file.text));
                    self.files.push(file);
                }
            }
            if self.problems.len() == problems {
                whole.push(folder);
            }
        }
        whole
    }

    fn read(&mut self, kind: Kind, path: &Path) -> Option<ProjectFile> {
        match self.text(path) {
            Ok((name, text)) => {
                let (bytes, fingerprint) = (text.len() as u64, Some(fingerprint(kind, &text)));
                Some(ProjectFile { kind, name, text, bytes, fingerprint })
            }
            Err(why) => {
                self.problems.push(format!("{}: {why}", shown(&path.to_string_lossy())));
                None
            }
        }
    }

    fn text(&self, path: &Path) -> Result<(String, String), String> {
        let told = |error: io::Error| error.to_string();
        let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str).ok_or("its path is not valid UTF-8")?;
        let target = fs::canonicalize(path).map_err(told)?;
        if !target.starts_with(&self.root) {
            return Err("it is a symbolic link that points outside the project".to_owned());
        }
        // A special file may never end, or may block the process that opens it.
        if !fs::metadata(&target).map_err(told)?.is_file() {
            return Err("it is not a file".to_owned());
        }
        let mut text = String::new();
        fs::File::open(&target).map_err(told)?.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(told)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
        Ok((name.to_owned(), text))
    }
}

/// Returns the hash of a file's kind and content.
pub(super) fn fingerprint(kind: Kind, text: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind.name().as_bytes()).update(&[0]).update(text.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Says in words where requests would go: the address alone may not make a reader think of their API key.
fn elsewhere(model: &ModelSettings) -> impl Iterator<Item = String> {
    model.providers.iter().filter_map(|(name, said)| {
        let url = said.value.base_url.as_ref()?;
        let (name, url) = (shown(name), shown(&url.value));
        Some(format!("  so every request to {name}, with your API key, would go to {url}"))
    })
}

/// Lists the permission rules in the settings of Claude Code.
fn claude_rules(text: &str) -> Vec<String> {
    let Ok(settings) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let lists = ["allow", "ask", "deny"].iter().flat_map(|list| {
        let rules =
            settings["permissions"][list].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        rules.map(move |rule| format!("  permissions.{list} = {}", shown(rule))).collect::<Vec<_>>()
    });
    lists.collect()
}
