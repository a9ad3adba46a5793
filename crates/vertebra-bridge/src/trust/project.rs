//! What a project's folder brings along: found and read once, so that what is shown is what counts.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use crate::{
    settings::{FILE_NAME, Level, ModelSettings, SettingsError, Sheet, parse, project_file, project_root},
    shown,
};

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

/// How many lines of instructions are shown to whoever is asked.
const LINES_SHOWN: usize = 5;

/// What a folder brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder that trust is about: the root of the repository, without links in its path.
    pub root: PathBuf,
    /// The files that would count.
    pub files: Vec<ProjectFile>,
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
    /// What it says.
    pub text: String,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `vertebra.toml`.
    Settings,
    /// `AGENTS.md`, `CLAUDE.md`.
    Instructions,
    /// A skill.
    Skill,
    /// A subagent.
    Agent,
}

impl Project {
    /// Looks at what the project of this folder brings: in the folder and above it, up to the root of its repository.
    pub fn look(folder: &Path) -> io::Result<Self> {
        let folder = fs::canonicalize(folder)?;
        let root = project_root(&folder).to_owned();
        let mut project =
            Self { root, files: Vec::new(), skills: Vec::new(), agents: Vec::new(), problems: Vec::new() };
        project.settings_and_instructions(&folder);
        project.skills = project.folders(SKILLS, Kind::Skill);
        project.agents = project.folders(AGENTS, Kind::Agent);
        Ok(project)
    }

    /// What its settings say, if it has any.
    pub fn settings(&self) -> Result<Sheet, SettingsError> {
        match self.of(Kind::Settings).next() {
            Some(file) => parse(&file.text, Level::Project, &self.root.join(&file.name).display().to_string()),
            None => Ok(Sheet::default()),
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
            let (name, bytes) = (shown(&file.name), file.text.len());
            match file.kind {
                Kind::Settings => match self.settings() {
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
                Kind::Instructions => {
                    lines.push(format!("{name} tells the model ({bytes} bytes)"));
                    lines.extend(file.text.lines().take(LINES_SHOWN).map(|line| format!("  | {}", shown(line))));
                    if file.text.lines().nth(LINES_SHOWN).is_some() {
                        lines.push("  | …".to_owned());
                    }
                }
                Kind::Skill => lines.push(format!("{name} is a skill that the model may load ({bytes} bytes)")),
                Kind::Agent => lines.push(format!("{name} is an agent that the model may start ({bytes} bytes)")),
            }
        }
        lines
    }

    fn settings_and_instructions(&mut self, folder: &Path) {
        let found = |name: &&str| project_file(folder, name);
        for path in [FILE_NAME].iter().filter_map(found) {
            self.add(Kind::Settings, &path);
            // A file of nothing but comments sets nothing, and nobody has to be asked about it.
            if self.settings().is_ok_and(|sheet| sheet.entries.is_empty()) {
                self.files.clear();
            }
        }
        for path in INSTRUCTIONS.iter().filter_map(found) {
            let before = self.files.len();
            self.add(Kind::Instructions, &path);
            // Many projects say the same under both names.
            let twice = self.files[before..].iter().any(|new| {
                self.files[..before].iter().any(|file| file.kind == Kind::Instructions && file.text == new.text)
            });
            if twice {
                self.files.truncate(before);
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
                self.add(kind, path);
            }
            if self.problems.len() == problems {
                whole.push(folder);
            }
        }
        whole
    }

    fn add(&mut self, kind: Kind, path: &Path) {
        match self.read(path) {
            Ok((name, text)) => self.files.push(ProjectFile { kind, name, text }),
            Err(why) => self.problems.push(format!("{}: {why}", shown(&path.to_string_lossy()))),
        }
    }

    fn read(&self, path: &Path) -> Result<(String, String), String> {
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

impl ProjectFile {
    /// The fingerprint of what it is and says.
    pub(super) fn fingerprint(&self) -> String {
        let kind = match self.kind {
            Kind::Settings => "settings",
            Kind::Instructions => "instructions",
            Kind::Skill => "skill",
            Kind::Agent => "agent",
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind.as_bytes()).update(&[0]).update(self.text.as_bytes());
        hasher.finalize().to_hex().to_string()
    }
}
