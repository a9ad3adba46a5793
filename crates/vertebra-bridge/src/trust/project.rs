//! What a project's folder brings along: found and read once, so that what is shown is what counts.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{
    Standing,
    hooks::{self, ProjectHook},
    scripts, seals,
};
use crate::{
    settings::{FILE_NAME, LOCAL_NAME, Level, ModelSettings, SettingsError, Sheet, parse, project_file, project_root},
    shell_word, shown,
};

/// Settings of Claude Code, whose hooks and permissions count here too.
pub(crate) const CLAUDE: &[&str] = &[".claude/settings.json", ".claude/settings.local.json"];

/// Files with instructions for models.
const INSTRUCTIONS: &[&str] = &["AGENTS.md", "CLAUDE.md"];

/// Folders with skills: each in a folder of its own, as `SKILL.md`.
const SKILLS: &[&str] = &[".vertebra/skills", ".agents/skills", ".claude/skills"];

/// Folders with agents, each a file.
const AGENTS: &[&str] = &[".vertebra/agents", ".claude/agents"];

/// How much of a file is read. A longer one does not count.
const MAX_BYTES: u64 = 512 * 1024;

/// How many skills or agents a folder may have.
const MAX_FILES: usize = 256;

/// How many hooks are named where they are skipped.
const HOOKS_SHOWN: usize = 8;

/// How much of a fingerprint is shown.
const PRINT_SHOWN: usize = 16;

/// How many lines of instructions are shown to whoever is asked.
const LINES_SHOWN: usize = 5;

/// What a folder brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder that trust is about: the root of the repository, without links in its path.
    pub root: PathBuf,
    /// The folder that was looked at, in it.
    pub folder: PathBuf,
    /// The files that would count.
    pub files: Vec<ProjectFile>,
    /// The hooks that its settings define.
    pub hooks: Vec<ProjectHook>,
    /// Folders of skills, all of whose skills are among the files.
    pub skills: Vec<PathBuf>,
    /// Folders of agents, all of which are among the files.
    pub agents: Vec<PathBuf>,
    /// What does not count in any case, and why.
    pub problems: Vec<String>,
}

/// A file that would count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// What it is.
    pub kind: Kind,
    /// Its path below the root.
    pub name: String,
    /// What it says; of a script, nothing: it may be no text.
    pub text: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The fingerprint of what it is and says. Without one it cannot be trusted.
    pub fingerprint: Option<String>,
}

/// What a file is.
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
}

impl Kind {
    /// The kind in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Claude => "claude",
            Self::Instructions => "instructions",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Script => "script",
        }
    }
}

impl Project {
    /// Looks at what the project of this folder brings: in the folder and above it, up to the root of its repository.
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

    /// Looks at what judges: settings, and the scripts that their hooks name. A folder that is gone brings nothing.
    pub fn look_at_policy(folder: &Path) -> Self {
        let mut project = Self::bare(fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
        project.settings_files();
        project.scripts();
        project
    }

    /// Looks at these settings of a folder that was trusted, and at the scripts that their hooks name, whatever else there is.
    pub(super) fn look_at(root: &Path, folder: &Path, settings: &[&str]) -> Self {
        let mut project = Self::within(root.to_owned(), folder.to_owned());
        for name in settings {
            project.settings_file(&root.join(name));
        }
        project.scripts();
        project
    }

    /// What is not as it is known: settings that are gone or say nothing, and files of which something else is known.
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
        }
    }

    /// Whether a file of this name would be in force here and is not among the files that were found: it is gone, says
    /// nothing any more, or cannot be read.
    pub(super) fn misses(&self, name: &str) -> bool {
        let path = self.root.join(name);
        let is_settings = |file: &&str| path.file_name().is_some_and(|name| name == *file);
        let Some(file) = [FILE_NAME, LOCAL_NAME].into_iter().find(is_settings) else { return false };
        path.parent().is_some_and(|above| self.folder.starts_with(above))
            && self.files.iter().all(|file| file.name != name)
            && (path.symlink_metadata().is_err() || project_file(&self.folder, file).as_ref() == Some(&path))
    }

    /// What its files of settings say, the nearest last.
    pub fn settings(&self) -> Result<Vec<Sheet>, SettingsError> {
        self.of(Kind::Settings).map(|file| self.sheet(file)).collect()
    }

    /// What one file of settings says.
    fn sheet(&self, file: &ProjectFile) -> Result<Sheet, SettingsError> {
        let level = if file.name.ends_with(LOCAL_NAME) { Level::Local } else { Level::Project };
        parse(&file.text, level, &self.root.join(&file.name).display().to_string())
    }

    /// Whether all that would count could be read, so that a yes is about something.
    pub fn can_be_trusted(&self) -> bool {
        self.files.iter().all(|file| file.fingerprint.is_some())
    }

    /// What is left out of a project that is not trusted, and what to type about it: loud where hooks are among it, for
    /// whoever wrote them believes that they hold.
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
            format!(" --dir {}", shown(&shell_word(&self.folder.to_string_lossy())))
        };
        let advice = format!("See and trust: vertebra trust{dir}");
        let hooks: Vec<String> = self.hooks.iter().take(HOOKS_SHOWN).map(|hook| shown(&hook.name)).collect();
        let more = if self.hooks.len() > HOOKS_SHOWN { ", …" } else { "" };
        match self.hooks.len() {
            0 if files.is_empty() => format!("the folder {why}. {advice}"),
            0 => format!("left out, because the folder {why}: {files}. {advice}"),
            count => format!(
                "SKIPPED {count} hook{} of this folder, because it {why}: {}{more}. Left out with {}: {files}. {advice}",
                if count == 1 { "" } else { "s" },
                hooks.join(", "),
                if count == 1 { "it" } else { "them" },
            ),
        }
    }

    /// The files of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &ProjectFile> {
        self.files.iter().filter(move |file| file.kind == kind)
    }

    /// Exactly what would take effect, for a person to read: harmless to show.
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
                    lines.push(format!("{name} has settings of Claude Code ({bytes} bytes)"));
                    lines.extend(claude_rules(&file.text));
                }
                Kind::Instructions => {
                    lines.push(format!("{name} tells the model ({bytes} bytes)"));
                    lines.extend(file.text.lines().take(LINES_SHOWN).map(|line| format!("  | {}", shown(line))));
                    if file.text.lines().nth(LINES_SHOWN).is_some() {
                        lines.push("  | …".to_owned());
                    }
                }
                Kind::Skill => lines.push(format!("{name} is a skill that the model may load ({bytes} bytes)")),
                Kind::Agent => lines.push(format!("{name} is an agent that the model may start ({bytes} bytes)")),
                Kind::Script => {}
            }
            for hook in self.hooks.iter().filter(|hook| hook.file == file.name) {
                lines.push(format!("  hook {}: {}", shown(&hook.name), shown(&hook.does)));
                let scripts =
                    hook.scripts.iter().filter_map(|name| self.of(Kind::Script).find(|file| file.name == *name));
                lines.extend(scripts.map(|script| {
                    let print = script.fingerprint.as_ref().and_then(|print| print.get(..PRINT_SHOWN));
                    let print = print.unwrap_or("cannot be read, so nothing of this can be trusted");
                    format!("    script {} ({} bytes, {print})", shown(&script.name), script.bytes)
                }));
            }
        }
        lines
    }

    /// Settings, and what is said in them that counts.
    fn settings_files(&mut self) {
        let folder = self.folder.clone();
        for path in [FILE_NAME, LOCAL_NAME].iter().filter_map(|name| project_file(&folder, name)) {
            self.settings_file(&path);
        }
    }

    fn settings_file(&mut self, path: &Path) {
        let Some(file) = self.read(Kind::Settings, path) else { return };
        match self.sheet(&file) {
            // A file of nothing but comments sets nothing, and nobody has to be asked about it.
            Ok(sheet) if sheet.entries.is_empty() => return,
            Ok(sheet) => {
                self.hooks.extend(sheet.settings.hooks.iter().map(|hook| hooks::of_settings(&file.name, hook)));
            }
            // Whoever uses it will tell.
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

    /// The files that hooks name. One that cannot be read has no fingerprint, and so all of it cannot be trusted.
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
        }
        let scripts = self.of(Kind::Script).count();
        if scripts > scripts::MAX_SCRIPTS {
            self.problems
                .push(format!("hooks name {scripts} files, and at most {} are looked at", scripts::MAX_SCRIPTS));
            self.files.iter_mut().for_each(|file| file.fingerprint = None);
        }
        self.hooks = hooks;
    }

    fn instructions(&mut self) {
        let folder = self.folder.clone();
        for path in INSTRUCTIONS.iter().filter_map(|name| project_file(&folder, name)) {
            let Some(file) = self.read(Kind::Instructions, &path) else { continue };
            // Many projects say the same under both names.
            if !self.of(Kind::Instructions).any(|other| other.text == file.text) {
                self.files.push(file);
            }
        }
    }

    /// Of these folders those whose files were all read. One with a file that cannot be shown does not count at all.
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
                let mut hasher = blake3::Hasher::new();
                hasher.update(kind.name().as_bytes()).update(&[0]).update(text.as_bytes());
                let (bytes, fingerprint) = (text.len() as u64, Some(hasher.finalize().to_hex().to_string()));
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
        let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str).ok_or("its name is not text")?;
        let target = fs::canonicalize(path).map_err(told)?;
        if !target.starts_with(&self.root) {
            return Err("it is a link that leads out of the project".to_owned());
        }
        // What is no file may never end, or make whoever opens it wait.
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

/// Where requests would go, in words: whoever reads the address alone may not think of their key.
fn elsewhere(model: &ModelSettings) -> impl Iterator<Item = String> {
    model.providers.iter().filter_map(|(name, said)| {
        let url = said.value.base_url.as_ref()?;
        let (name, url) = (shown(name), shown(&url.value));
        Some(format!("  so all that {name} is asked, and your key for it, would go to {url}"))
    })
}

/// What the settings of Claude Code allow, ask about and deny.
fn claude_rules(text: &str) -> Vec<String> {
    let Ok(settings) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let lists = ["allow", "ask", "deny"].iter().flat_map(|list| {
        let rules =
            settings["permissions"][list].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        rules.map(move |rule| format!("  permissions.{list} = {}", shown(rule))).collect::<Vec<_>>()
    });
    lists.collect()
}
