//! Claude Code's settings: every level, read tolerantly, and what holds after all of them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use vertebra_kit::{Brought, hooks_in};

use super::{
    at_work::Bringer,
    event::{EVENTS, Event},
    handler::{Handler, Level, Origin, Plugin, texts},
    matcher::Matcher,
};

/// How large a settings file may be.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// How many handlers may be declared in all.
const MAX_HANDLERS: usize = 2000;

/// Where the machine's managed settings lie.
pub const MANAGED: &str = "/etc/claude-code";

/// The settings of all levels together.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    files: Vec<File>,
    /// What was not understood and left out, each with its file.
    pub warnings: Vec<String>,
    /// What is wrong with a file of which nothing is used.
    broken: Option<String>,
}

/// Where settings are looked for.
#[derive(Debug, Clone)]
pub struct Places {
    /// The folder of managed settings.
    pub managed: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The project, if its settings count.
    pub project: Option<PathBuf>,
}

impl Places {
    /// The files of managed settings, the strongest last.
    pub(super) fn managed_files(&self) -> Vec<PathBuf> {
        let more = fs::read_dir(self.managed.join("managed-settings.d")).into_iter().flatten().flatten();
        let mut more: Vec<PathBuf> = more.map(|entry| entry.path()).collect();
        more.retain(|path| path.extension().is_some_and(|end| end == "json"));
        more.sort();
        more.insert(0, self.managed.join("managed-settings.json"));
        more
    }
}

/// What one file says.
#[derive(Debug, Clone)]
struct File {
    origin: Arc<Origin>,
    bringer: Option<Bringer>,
    hooks: Vec<Declared>,
    rules: Vec<RuleText>,
    values: Map<String, Value>,
}

/// A handler, where and when it runs.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub(super) event: &'static Event,
    pub(super) matcher: Matcher,
    /// The matcher as it is written.
    pub(super) written: String,
    pub(super) handler: Handler,
    pub(super) origin: Arc<Origin>,
    /// The skill or agent whose it is.
    pub(super) bringer: Option<Bringer>,
    /// Where it is written: the file, and the place in it.
    pub(super) spot: String,
}

impl Declared {
    /// Whether it is done once it has succeeded.
    pub(super) fn is_for_once(&self) -> bool {
        self.handler.once && matches!(self.bringer, Some(Bringer::Skill(_)))
    }
}

/// A handler in force, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The event.
    pub event: &'static str,
    /// The matcher as it is written.
    pub matcher: String,
    /// What is run.
    pub does: String,
    /// Who says so.
    pub origin: Origin,
    /// The skill or agent that has to be at work for it.
    pub bringer: Option<Bringer>,
}

/// A permission rule as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleText {
    pub(super) effect: &'static str,
    pub(super) text: String,
    pub(super) origin: Arc<Origin>,
}

impl Settings {
    /// Reads every level that is there: managed, user, project, local. Files that are not there say nothing.
    pub fn read(places: &Places) -> Self {
        let mut settings = Self::default();
        if let Some(home) = &places.home {
            settings.add_file(&home.join(".claude/settings.json"), Level::User);
        }
        if let Some(project) = places.project.as_ref().filter(|project| Some(*project) != places.home.as_ref()) {
            settings.add_file(&project.join(".claude/settings.json"), Level::Project);
        }
        if let Some(project) = &places.project {
            settings.add_file(&project.join(".claude/settings.local.json"), Level::Local);
        }
        for path in places.managed_files() {
            settings.add_file(&path, Level::Managed);
        }
        settings
    }

    /// Adds the settings of a file, if it is there. What is not understood is left out, and told.
    pub fn add_file(&mut self, path: &Path, level: Level) {
        match read(path) {
            Ok(Some(text)) => self.add_text(&text, path, level),
            Ok(None) => {}
            Err(error) => self.is_broken(path, &error),
        }
    }

    /// Adds the hooks of a skill's or an agent's file, if it is there and has some.
    pub fn add_front_matter_of(&mut self, path: &Path, level: Level) {
        match read(path) {
            Ok(Some(text)) => self.add_front_matter(&text, path, level),
            Ok(None) => {}
            Err(error) => self.is_broken(path, &error),
        }
    }

    /// Adds settings from their text. The path is what they are known by, and what their rules are relative to.
    pub fn add_text(&mut self, text: &str, path: &Path, level: Level) {
        let origin = Arc::new(Origin { file: path.to_owned(), level });
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let values = match serde_json::from_str(text) {
            Ok(Value::Object(values)) => values,
            _ if text.trim().is_empty() => Map::new(),
            Ok(_) => return self.is_broken(path, "settings are an object"),
            Err(error) => return self.is_broken(path, &format!("not JSON: {error}")),
        };
        let mut values = values;
        let hooks = values.remove("hooks");
        if origin.level.plugin().is_some() {
            // A plugin brings hooks, and nothing that is said to others.
            values.clear();
        }
        let mut file = File { rules: rules(&values, &origin), origin, bringer: None, hooks: Vec::new(), values };
        if let Some(hooks) = hooks {
            self.read_hooks(&hooks, &mut file);
        }
        self.files.push(file);
    }

    /// Adds the text of one of a project's settings files. Its name says whether it is the project's or the person's there.
    pub fn add_project_text(&mut self, text: &str, path: &Path) {
        let is_local = path.ends_with("settings.local.json");
        self.add_text(text, path, if is_local { Level::Local } else { Level::Project });
    }

    /// Adds the hooks of a plugin: its `hooks/hooks.json`.
    pub fn add_plugin(&mut self, plugin: Plugin) {
        let path = plugin.root.join("hooks/hooks.json");
        self.add_file(&path, Level::Plugin(Arc::new(plugin)));
    }

    /// Adds the hooks in the front matter of a `SKILL.md` or of an agent's file, if it has some. Of two skills or agents of
    /// one name the first counts.
    pub fn add_front_matter(&mut self, text: &str, path: &Path, level: Level) {
        let Some(Brought { name, hooks }) = hooks_in(path, text) else { return };
        let bringer = if is_skill(path) { Bringer::Skill(name.into()) } else { Bringer::Agent(name.into()) };
        let bringer = Some(bringer);
        if self.files.iter().any(|file| file.bringer == bringer) {
            return;
        }
        let origin = Arc::new(Origin { file: path.to_owned(), level });
        let mut file = File { origin, bringer, hooks: Vec::new(), rules: Vec::new(), values: Map::new() };
        self.read_hooks(&hooks, &mut file);
        self.files.push(file);
    }

    fn is_broken(&mut self, path: &Path, why: &str) {
        let told = format!("{}: {why}", path.display());
        self.warnings.push(format!("{told}; nothing of it is used"));
        self.broken.get_or_insert(told);
    }

    /// What is wrong with a file of which nothing is used.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Takes over what skills and agents brought to other settings.
    pub(super) fn keep_brought(&mut self, other: &Self) {
        self.files.extend(other.files.iter().filter(|file| file.bringer.is_some()).cloned());
    }

    /// Takes a file as it was in other settings.
    pub(super) fn keep_file(&mut self, path: &Path, other: &Self) {
        self.files.retain(|file| file.origin.file != path);
        self.files.extend(other.files.iter().filter(|file| file.origin.file == path).cloned());
    }

    /// What a person set for a plugin, by its name.
    pub fn plugin_options(&self, name: &str) -> BTreeMap<String, String> {
        let is_it = |key: &str| key == name || key.split('@').next() == Some(name);
        let configs = self.by_strength().filter_map(|file| file.values.get("pluginConfigs")?.as_object());
        let mut options = BTreeMap::new();
        let found = configs.flatten().filter(|(key, _)| is_it(key)).filter_map(|(_, config)| config.get("options"));
        for (key, value) in found.filter_map(Value::as_object).flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            options.entry(key.clone()).or_insert(value);
        }
        options
    }

    fn read_hooks(&mut self, hooks: &Value, file: &mut File) {
        let shown = file.origin.file.display().to_string();
        let Some(hooks) = hooks.as_object() else {
            self.warnings.push(format!("{shown}: `hooks` must be an object; it is ignored"));
            return;
        };
        for (name, groups) in hooks {
            // What an agent calls its end is a child's to everybody else.
            let is_end = name == "Stop" && matches!(file.bringer, Some(Bringer::Agent(_)));
            let name = if is_end { "SubagentStop" } else { name };
            let Some(event) = Event::named(name) else {
                self.warnings.push(format!("{shown}: unknown event `{name}`; it is ignored"));
                continue;
            };
            let Some(groups) = groups.as_array() else {
                self.warnings.push(format!("{shown}: hooks.{name} must be a list; it is ignored"));
                continue;
            };
            for (at, group) in groups.iter().enumerate() {
                self.read_group(event, group, &format!("{shown}: hooks.{name}[{at}]"), file);
            }
        }
    }

    fn read_group(&mut self, event: &'static Event, group: &Value, shown: &str, file: &mut File) {
        let written = match group.get("matcher") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.as_str()),
            Some(_) => {
                self.warnings.push(format!("{shown}: `matcher` must be a string; the entry is ignored"));
                return;
            }
        };
        let Some(handlers) = group.get("hooks").and_then(Value::as_array) else {
            self.warnings.push(format!("{shown}: it has no list of `hooks`; the entry is ignored"));
            return;
        };
        let matcher = Matcher::new(written, event.matched);
        if let Matcher::Broken(error) = &matcher {
            let what = if event.is_gate() { "every call is blocked" } else { "it never runs" };
            let text = written.unwrap_or_default();
            self.warnings.push(format!("{shown}: invalid regex `{text}` in `matcher` ({error}): {what}"));
        }
        for (at, handler) in handlers.iter().enumerate() {
            let shown = format!("{shown}.hooks[{at}]");
            let handler = match Handler::read(handler) {
                Ok(handler) => handler,
                Err(error) => {
                    self.warnings.push(format!("{shown}: {error}; the handler is ignored"));
                    continue;
                }
            };
            if !event.kinds.contains(&handler.kind()) {
                let (kind, event) = (handler.kind().name(), event.name);
                self.warnings
                    .push(format!("{shown}: handler type `{kind}` is not supported for {event}; it never runs"));
                continue;
            }
            if handler.condition.is_some() && !event.is_about_a_tool() {
                self.warnings.push(format!("{shown}: `if` is for events about tools; it never runs"));
                continue;
            }
            if file.hooks.len() >= MAX_HANDLERS {
                self.warnings.push(format!("{shown}: there are already {MAX_HANDLERS} handlers; it is ignored"));
                return;
            }
            let (written, origin) = (written.unwrap_or_default().to_owned(), file.origin.clone());
            let (matcher, bringer) = (matcher.clone(), file.bringer.clone());
            file.hooks.push(Declared { event, matcher, written, handler, origin, bringer, spot: shown });
        }
    }

    /// The handlers in force at an event, as they were declared: the strongest level first. Those of skills and agents are
    /// among them, whoever is at work.
    pub(super) fn in_force<'s>(&'s self, event: &'s Event) -> impl Iterator<Item = &'s Declared> {
        self.hooks().filter(|declared| declared.event.name == event.name)
    }

    /// Every handler in force.
    pub(super) fn hooks(&self) -> impl Iterator<Item = &Declared> {
        let off = self.hooks_off();
        let managed_only = self.managed("allowManagedHooksOnly").is_some_and(|value| value == &Value::Bool(true));
        let strict = self.managed("strictPluginOnlyCustomization");
        let plugins_only = match strict {
            Some(Value::Array(of)) => of.iter().any(|of| of == "hooks"),
            Some(value) => value == &Value::Bool(true),
            None => false,
        };
        let in_force = move |level: &Level| match (off, level) {
            (Off::All, _) => false,
            (_, Level::Managed) => true,
            (Off::NotManaged, _) => false,
            (Off::Nothing, Level::Plugin(_)) => !managed_only,
            (Off::Nothing, _) => !managed_only && !plugins_only,
        };
        self.by_strength().filter(move |file| in_force(&file.origin.level)).flat_map(|file| &file.hooks)
    }

    /// Every handler in force, for people to read: event after event, the strongest level first.
    pub fn listed(&self) -> Vec<Listed> {
        let listed = |declared: &Declared| Listed {
            event: declared.event.name,
            matcher: declared.written.clone(),
            does: declared.handler.shown(),
            origin: (*declared.origin).clone(),
            bringer: declared.bringer.clone(),
        };
        EVENTS.iter().flat_map(|event| self.in_force(event)).map(listed).collect()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.hooks().next().is_none()
    }

    /// The files that say something.
    pub fn files(&self) -> impl Iterator<Item = &Origin> {
        self.files.iter().map(|file| &*file.origin)
    }

    fn hooks_off(&self) -> Off {
        let said = self.by_strength().find_map(|file| Some((file, file.values.get("disableAllHooks")?.as_bool()?)));
        match said {
            Some((file, true)) if file.origin.level == Level::Managed => Off::All,
            Some((_, true)) => Off::NotManaged,
            Some((_, false)) | None => Off::Nothing,
        }
    }

    /// The permission rules of all levels, or of the managed one alone if that says so.
    pub(super) fn rules(&self) -> impl Iterator<Item = &RuleText> {
        let managed_only = self.managed("allowManagedPermissionRulesOnly") == Some(&Value::Bool(true));
        let counts = move |file: &&File| !managed_only || file.origin.level == Level::Managed;
        self.by_strength().filter(counts).flat_map(|file| &file.rules)
    }

    /// The variables that settings give to whatever is started, each as the strongest level says.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        let said = self.by_strength().filter_map(|file| file.values.get("env")?.as_object()).flatten();
        for (name, value) in said {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => continue,
            };
            // What no process can have is nobody's variable.
            if !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0') {
                variables.entry(name.clone()).or_insert(value);
            }
        }
        variables
    }

    /// The mode in which sessions begin, if some level says.
    pub fn default_mode(&self) -> Option<&str> {
        self.by_strength().find_map(|file| file.values.get("permissions")?.get("defaultMode")?.as_str())
    }

    /// The addresses that handlers may reach, if they are limited.
    pub(super) fn allowed_urls(&self) -> Option<Vec<String>> {
        self.limits("allowedHttpHookUrls")
    }

    /// The variables that handlers may send in headers, if they are limited.
    pub(super) fn allowed_variables(&self) -> Option<Vec<String>> {
        self.limits("httpHookAllowedEnvVars")
    }

    /// A list that limits what all levels may do. What managed settings say cannot be widened below them.
    fn limits(&self, key: &str) -> Option<Vec<String>> {
        if let Some(managed) = self.managed(key) {
            return Some(texts(managed).unwrap_or_default());
        }
        let mut all = None;
        for list in self.files.iter().filter_map(|file| file.values.get(key)) {
            all.get_or_insert_with(Vec::new).extend(texts(list).unwrap_or_default());
        }
        all
    }

    fn managed(&self, key: &str) -> Option<&Value> {
        let mut managed = self.by_strength().filter(|file| file.origin.level == Level::Managed);
        managed.find_map(|file| file.values.get(key))
    }

    /// The strongest first; of one level, the last that was read.
    fn by_strength(&self) -> impl Iterator<Item = &File> {
        let mut files: Vec<&File> = self.files.iter().rev().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.origin.level.rank()));
        files.into_iter()
    }
}

/// Which hooks do not run.
#[derive(Clone, Copy)]
enum Off {
    Nothing,
    NotManaged,
    All,
}

impl Level {
    /// How strong it is.
    fn rank(&self) -> u8 {
        match self {
            Self::Plugin(_) => 0,
            Self::User => 1,
            Self::Project => 2,
            Self::Local => 3,
            Self::CommandLine => 4,
            Self::Managed => 5,
        }
    }

    /// The plugin, if it is one.
    pub(super) fn plugin(&self) -> Option<&Arc<Plugin>> {
        match self {
            Self::Plugin(plugin) => Some(plugin),
            _ => None,
        }
    }
}

/// Whether a file is that of a skill.
pub(super) fn is_skill(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "SKILL.md")
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let length = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if length > MAX_FILE {
        return Err(format!("it is larger than {MAX_FILE} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned())
}

fn rules(values: &Map<String, Value>, origin: &Arc<Origin>) -> Vec<RuleText> {
    let Some(permissions) = values.get("permissions") else { return Vec::new() };
    let of = |effect: &'static str| {
        let texts = permissions.get(effect).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        texts.map(move |text| RuleText { effect, text: text.to_owned(), origin: origin.clone() })
    };
    of("deny").chain(of("ask")).chain(of("allow")).collect()
}
