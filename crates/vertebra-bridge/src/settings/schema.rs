//! The sections and keys of a settings file.

use std::{cell::RefCell, io::Read as _, path::Path, time::Duration};

use serde_json::{Value, json};
use toml::de::DeTable;
use vertebra::Points;
use vertebra_kit::bash::sandbox::Opened;

use super::{
    AboutHooks, Driver, Entry, InstructionSettings, JournalSettings, Level, LimitSettings, MAX_BYTES, McpSettings,
    Mode, ModelSettings, Need, NetworkAccess, PermissionSettings, ProviderSettings, Said, SandboxSettings, Settings,
    SettingsError, Sync, ToolSettings,
    error::Values,
    hook,
    item::{Item, fields},
    point,
    reader::{File, Section},
    shape,
};
use crate::{kept::open, shown, wholly_shown};

/// The usual size of a file.
const USUAL_BYTES: usize = 16 * 1024;

/// One settings file after reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// The settings.
    pub settings: Settings,
    /// The same, line by line, for display.
    pub entries: Vec<Entry>,
}

/// Reads a file. A missing file sets nothing.
pub fn read(path: &Path, level: Level) -> Result<Sheet, SettingsError> {
    let place = wholly_shown(&path.display().to_string());
    text_of(path, &place)?.map_or_else(|| Ok(Sheet::default()), |text| parse(&text, level, &place))
}

/// Returns the text of a file, if it exists.
fn text_of(path: &Path, place: &str) -> Result<Option<String>, SettingsError> {
    let failed = |source| SettingsError::Io { place: place.into(), source };
    let Some(file) = open(path).map_err(failed)? else { return Ok(None) };
    let mut text = String::with_capacity(USUAL_BYTES);
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Reads the text of a file. Its hooks may be at built-in points and at those that it declares.
pub fn parse(text: &str, level: Level, place: &str) -> Result<Sheet, SettingsError> {
    parse_with(text, level, place, &Points::default())
}

/// Reads the text of a file whose hooks may also be at these points, which the program declares.
pub fn parse_with(text: &str, level: Level, place: &str, points: &Points) -> Result<Sheet, SettingsError> {
    let file = File { points: RefCell::new(points.clone()), ..File::new(text, level, place, Some(RefCell::default())) };
    let settings = settings_in(&file)?;
    let mut entries = file.entries.map(RefCell::into_inner).unwrap_or_default();
    entries.sort_by_key(|entry| entry.line);
    Ok(Sheet { settings, entries })
}

pub(super) fn settings_in(file: &File<'_>) -> Result<Settings, SettingsError> {
    whole(file, settings)
}

/// Reads all of a file.
pub(super) fn whole<T>(
    file: &File<'_>,
    read: impl FnOnce(&mut Section<'_>) -> Result<T, SettingsError>,
) -> Result<T, SettingsError> {
    if file.text.len() as u64 > MAX_BYTES {
        let error = file.error(0..0, Values::Shown, format!("a settings file can have at most {MAX_BYTES} bytes"));
        file.forgive::<()>(Err(error))?;
    }
    let document = DeTable::parse(file.text).map_err(|error| {
        file.error(
            error.span().unwrap_or_default(),
            Values::Shown,
            format!("invalid TOML: {}", wholly_shown(&error.message().replace('\n', ", "))),
        )
    })?;
    let mut root = Section::new(file, "".into(), 0..0, fields(document.get_ref()));
    let said = read(&mut root)?;
    root.forgiven(|root| root.finish())?;
    Ok(said)
}

/// Returns the JSON schema of a settings file. It is made by the functions that read the file.
pub fn json_schema() -> Value {
    let file = File::new("", Level::User, "", None);
    let mut schema = Section::sketch(&file, settings).unwrap_or_default();
    let matching = Section::sketch(&file, hook::any_match).unwrap_or_default();
    let (of_hook, matchers) = hook::by_point(&matching);
    if let (Some(hook), Value::Object(of_hook)) = (schema["properties"]["hook"]["items"].as_object_mut(), of_hook) {
        hook.extend(of_hook);
    }
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        schema.insert("title".to_owned(), "Vertebra settings".into());
        schema.insert("$defs".to_owned(), matchers);
    }
    schema
}

pub(super) fn settings(root: &mut Section<'_>) -> Result<Settings, SettingsError> {
    // Rules and matchers name these.
    let tools = root.forgiven(|root| root.section("tools", tools))?;
    root.declare_tools(&tools.known);
    // Hooks name these.
    let points = root.forgiven(point::read)?;
    Ok(Settings {
        points,
        model: root.forgiven(|root| root.section("model", model))?,
        permissions: root.forgiven(|root| root.section("permissions", permissions))?,
        limits: root.forgiven(|root| root.section("limits", limits))?,
        sandbox: root.forgiven(|root| root.section("sandbox", sandbox))?,
        instructions: root.forgiven(|root| root.section("instructions", instructions))?,
        mcp: root.forgiven(|root| root.section("mcp", mcp))?,
        tools,
        journal: root.forgiven(|root| root.section("journal", journal))?,
        about_hooks: root.forgiven(|root| root.section("hooks", about_hooks))?,
        hooks: root.forgiven(hook::read)?,
    })
}

fn tools(section: &mut Section<'_>) -> Result<ToolSettings, SettingsError> {
    let is_name = |name: &str| {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if is_name { Ok(()) } else { Err("a tool name has only letters, digits, `_`, `-` and `.`".to_owned()) }
    };
    Ok(ToolSettings { known: section.checked_list("known", "deploy", is_name)? })
}

fn model(section: &mut Section<'_>) -> Result<ModelSettings, SettingsError> {
    let drivers = [("auto", Driver::Auto), ("native", Driver::Native), ("react", Driver::React)];
    Ok(ModelSettings {
        name: section.text("name", "PROVIDER:NAME")?,
        driver: section.word("driver", &drivers)?,
        window: count(section, "window", 200_000)?,
        retry: time(section, "retry", ["30s", "10m", "1h"])?,
        providers: section.each("provider", provider)?.into_iter().collect(),
        unknown_address: None,
    })
}

fn provider(section: &mut Section<'_>) -> Result<ProviderSettings, SettingsError> {
    Ok(ProviderSettings {
        base_url: section.discreet("base_url", || shape::pattern("^https?://", "http://localhost:8080/v1"), address)?,
        key: section.discreet("key", || shape::pattern("^[A-Z_][A-Z0-9_]*$", "ANTHROPIC_API_KEY"), variable)?,
    })
}

fn permissions(section: &mut Section<'_>) -> Result<PermissionSettings, SettingsError> {
    let modes =
        [("ask", Mode::Ask), ("accept_edits", Mode::AcceptEdits), ("sandboxed", Mode::Sandboxed), ("plan", Mode::Plan)];
    let tools = section.known_tools();
    let is_known = |rule: &str| tools.as_ref().map_or(Ok(()), |tools| tools.check_rule(rule));
    Ok(PermissionSettings {
        mode: section.forgiven(|section| {
            // The list of modes would not explain why this one is missing.
            if section.is("mode", "bypass") {
                return Err(section.wrong("mode", "a file cannot set `bypass`; use `--mode bypass` for a single run"));
            }
            section.word("mode", &modes)
        })?,
        allow: section.checked_list("allow", "Bash(git *)", is_known)?,
        ask: section.checked_list("ask", "Bash(git push *)", is_known)?,
        deny: section.checked_list("deny", "Read(**/.env)", is_known)?,
        folders: section.forgiven(|section| {
            if section.has("folder") && matches!(section.level(), Level::Project | Level::Local) {
                let message =
                    "a project cannot allow anything by folder: put `[permissions.folder]` in your own settings";
                return Err(section.wrong("folder", message));
            }
            let folders =
                section.each("folder", |folder| folder.checked_list("allow", "Bash(npm test *)", is_known))?;
            if let Some((name, _)) = folders.iter().find(|(name, _)| !name.starts_with('/') && !name.starts_with("~/"))
            {
                let message =
                    format!("`{}` must start with `/` or `~/`: write the whole path of the folder", shown(name));
                return Err(section.wrong("folder", message));
            }
            Ok(folders.into_iter().map(|(name, allow)| (name, allow.value)).collect())
        })?,
    })
}

fn limits(section: &mut Section<'_>) -> Result<LimitSettings, SettingsError> {
    Ok(LimitSettings {
        steps: count(section, "steps", 100)?,
        tokens: count(section, "tokens", 100)?,
        time: time(section, "time", ["90s", "10m", "1h"])?,
        cost_micros: section.value(
            "cost",
            || json!({ "type": "number", "exclusiveMinimum": 0 }),
            |item| {
                #[expect(clippy::cast_precision_loss, reason = "cost limits are far below billions of dollars")]
                let dollars = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
                dollars
                    .and_then(micros)
                    .ok_or_else(|| "`cost` must be an amount in dollars above 0: write `cost = 2.50`".to_owned())
            },
        )?,
    })
}

fn sandbox(section: &mut Section<'_>) -> Result<SandboxSettings, SettingsError> {
    let needs = [("required", Need::Required), ("if_available", Need::IfAvailable), ("off", Need::Off)];
    Ok(SandboxSettings {
        need: section.word("need", &needs)?,
        network: section.value(
            "network",
            || shape::either([shape::one_of(&["off", "on"]), shape::list(&shape::text("crates.io"))]),
            |item| {
                let wrong = || {
                    "`network` must be \"off\", \"on\" or a list of domains and ports of this machine: write `network = \
                     [\"crates.io\", \"localhost:5432\"]`"
                        .to_owned()
                };
                let named = match (item.as_str(), item.as_array()) {
                    (Some(word @ ("off" | "on")), _) => vec![word.to_owned()],
                    (_, Some(list)) => list.map(|item| item.as_str().unwrap_or_default().to_owned()).collect(),
                    _ => return Err(wrong()),
                };
                let opened = named.iter().map(|name| name.parse::<Opened>()).collect::<Result<Vec<_>, _>>();
                opened.and_then(NetworkAccess::of).map_err(|error| format!("`network`: {error}"))
            },
        )?,
        write: section.list("write", "~/.cache/pip")?,
        deny_read: section.list("deny_read", "~/private")?,
    })
}

fn instructions(section: &mut Section<'_>) -> Result<InstructionSettings, SettingsError> {
    Ok(InstructionSettings {
        text: section.text("text", "Answer in French.")?.into_iter().collect(),
        project: section.flag("project")?,
    })
}

fn about_hooks(section: &mut Section<'_>) -> Result<AboutHooks, SettingsError> {
    let about = AboutHooks { disable: section.list("disable", "no-force-push")?, project: section.flag("project")? };
    if about.project.is_some() && matches!(section.level(), Level::Project | Level::Local) {
        let message = "a project cannot switch project hooks on or off: set `project` in your own settings";
        return Err(section.wrong("project", message));
    }
    Ok(about)
}

fn mcp(section: &mut Section<'_>) -> Result<McpSettings, SettingsError> {
    let file = path(section, "file", "~/.config/vertebra/mcp.json")?;
    // The servers in that file are started, and trust in a project only covers the project's own files.
    match file {
        Some(said) if matches!(said.origin.level, Level::Project | Level::Local) => {
            Err(section.wrong("file", "a project cannot start MCP servers: put `[mcp]` in your own settings"))
        }
        file => Ok(McpSettings { file }),
    }
}

fn journal(section: &mut Section<'_>) -> Result<JournalSettings, SettingsError> {
    let of_project = matches!(section.level(), Level::Project | Level::Local);
    let settings = JournalSettings {
        enabled: section.flag("enabled")?,
        path: path(section, "path", "~/.local/state/vertebra/journal.db")?,
        sync: section.word("sync", &[("power", Sync::Power), ("process", Sync::Process)])?,
        chain: section.flag("chain")?,
        keep: time(section, "keep", ["12h", "30d", "365d"])?,
        max_sessions: count(section, "max_sessions", 1000)?,
        max_bytes: count(section, "max_bytes", 1 << 30)?,
    };
    // Otherwise the author of a project could hide what it did.
    if of_project && settings != JournalSettings::default() {
        return Err(section.lacks("a project cannot change what is recorded: put `[journal]` in your own settings"));
    }
    Ok(settings)
}

/// Reads a count of at least one.
fn count(section: &mut Section<'_>, key: &'static str, such_as: i64) -> Result<Option<Said<u64>>, SettingsError> {
    let number = section.whole(key, 1..=i64::MAX, such_as)?;
    Ok(number.map(|said| Said { value: said.value.unsigned_abs(), origin: said.origin }))
}

/// Reads a duration.
fn time(
    section: &mut Section<'_>,
    key: &'static str,
    such_as: [&str; 3],
) -> Result<Option<Said<Duration>>, SettingsError> {
    let [first, second, third] = such_as;
    section.value(
        key,
        || shape::duration(second),
        |item| {
            let time = item.as_str().and_then(duration);
            time.ok_or_else(|| {
                format!(
                    "`{key}` must be a number with a unit: write `{key} = \"{first}\"`, `\"{second}\"` or `\"{third}\"`"
                )
            })
        },
    )
}

/// Reads a path that does not depend on the working folder.
fn path(section: &mut Section<'_>, key: &'static str, such_as: &str) -> Result<Option<Said<String>>, SettingsError> {
    section.value(
        key,
        || shape::pattern("^(/|~/)", such_as),
        |item| {
            let path = item.as_str().filter(|path| path.starts_with('/') || path.starts_with("~/"));
            let path =
                path.ok_or_else(|| format!("`{key}` must start with `/` or `~/`: write `{key} = \"{such_as}\"`"))?;
            Ok(path.to_owned())
        },
    )
}

/// Parses a duration above 0 from a number and a unit: `500ms`, `90s`, `10m`, `1h`, `30d`.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let millis = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Duration::from_millis(millis)).filter(|time| !time.is_zero())
}

/// Converts dollars above 0 into millionths of a dollar.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
pub fn micros(dollars: f64) -> Option<u64> {
    let micros = (dollars * 1e6).round();
    (1.0..1e15).contains(&micros).then_some(micros as u64)
}

/// Reads the URL of a server that contains no secret.
fn address(item: Item<'_>) -> Result<String, String> {
    let text = item.as_str().unwrap_or_default();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err("`base_url` must be a URL: write `base_url = \"http://localhost:8080/v1\"`".to_owned());
    }
    if host.contains('@') || text.contains(['?', '#']) {
        return Err("`base_url` must not contain a user, password or query: set `key` instead".to_owned());
    }
    Ok(text.to_owned())
}

/// Reads the name of an environment variable, and rejects the key itself.
fn variable(item: Item<'_>) -> Result<String, String> {
    let text = item.as_str().unwrap_or_default();
    let first = text.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '_');
    let rest = text.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    if first && rest && text.len() <= 128 {
        return Ok(text.to_owned());
    }
    Err("`key` must be the name of an environment variable, not the key itself: write `key = \"ANTHROPIC_API_KEY\"`"
        .to_owned())
}
