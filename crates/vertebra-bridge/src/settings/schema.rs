//! What may stand in a file of settings.

use std::{cell::RefCell, fs, io::Read as _, path::Path, sync::Arc, time::Duration};

use toml_edit::{Document, Item};

use super::{
    Driver, Entry, InstructionSettings, Level, LimitSettings, MAX_BYTES, McpSettings, Mode, ModelSettings, Need,
    Network, PermissionSettings, ProviderSettings, SandboxSettings, Settings, SettingsError,
    error::Values,
    reader::{File, Section},
};
use crate::wholly_shown;

/// One file of settings, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// What it sets.
    pub settings: Settings,
    /// The same for people to read, line by line.
    pub entries: Vec<Entry>,
}

/// Reads a file. One that is not there sets nothing.
pub fn read(path: &Path, level: Level) -> Result<Sheet, SettingsError> {
    let place: Arc<str> = wholly_shown(&path.display().to_string()).into();
    let failed = |source| SettingsError::Io { place: place.clone(), source };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Sheet::default()),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    parse(&text, level, &place)
}

/// Reads the text of a file.
pub fn parse(text: &str, level: Level, place: &str) -> Result<Sheet, SettingsError> {
    let file = File { text, level, place: wholly_shown(place).into(), entries: RefCell::default() };
    if text.len() as u64 > MAX_BYTES {
        return Err(file.error(0, Values::Shown, format!("a file of settings has at most {MAX_BYTES} bytes")));
    }
    let document = Document::parse(text).map_err(|error| {
        let byte = error.span().map_or(0, |span| span.start);
        file.error(
            byte,
            Values::Shown,
            format!("this is not TOML: {}", wholly_shown(&error.message().replace('\n', ", "))),
        )
    })?;
    let mut root = Section::new(&file, String::new(), document.as_table());
    let settings = settings(&mut root)?;
    if document.contains_key("hook") {
        let message = "hooks in files are not read by this version, so none would hold: take `[[hook]]` out, and deny what must not happen under `[permissions]`";
        return Err(root.wrong("hook", message));
    }
    root.finish()?;
    let mut entries = file.entries.into_inner();
    entries.sort_by_key(|entry| entry.line);
    Ok(Sheet { settings, entries })
}

fn settings(root: &mut Section<'_>) -> Result<Settings, SettingsError> {
    Ok(Settings {
        model: root.section("model", model)?,
        permissions: root.section("permissions", permissions)?,
        limits: root.section("limits", limits)?,
        sandbox: root.section("sandbox", sandbox)?,
        instructions: root.section("instructions", instructions)?,
        mcp: root.section("mcp", mcp)?,
        hooks: Vec::new(),
        about_hooks: super::AboutHooks::default(),
    })
}

fn model(section: &mut Section<'_>) -> Result<ModelSettings, SettingsError> {
    let drivers = [("auto", Driver::Auto), ("native", Driver::Native), ("react", Driver::React)];
    Ok(ModelSettings {
        name: section.text("name", "PROVIDER:NAME")?,
        driver: section.word("driver", &drivers)?,
        providers: section.each("provider", provider)?.into_iter().collect(),
    })
}

fn provider(section: &mut Section<'_>) -> Result<ProviderSettings, SettingsError> {
    Ok(ProviderSettings { base_url: section.discreet("base_url", address)?, key: section.discreet("key", variable)? })
}

fn permissions(section: &mut Section<'_>) -> Result<PermissionSettings, SettingsError> {
    // The list of words would not say why this one is missing.
    if section.item("mode").is_some_and(|item| item.as_str() == Some("bypass")) {
        return Err(section.wrong("mode", "questions are not bypassed by a file; `--mode bypass` is for one run"));
    }
    let modes = [("ask", Mode::Ask), ("accept_edits", Mode::AcceptEdits), ("plan", Mode::Plan)];
    Ok(PermissionSettings {
        mode: section.word("mode", &modes)?,
        allow: section.list("allow", "Bash(git *)")?,
        ask: section.list("ask", "Bash(git push *)")?,
        deny: section.list("deny", "Read(**/.env)")?,
    })
}

fn limits(section: &mut Section<'_>) -> Result<LimitSettings, SettingsError> {
    let number = |key: &'static str, item: &Item| {
        let number = item.as_integer().and_then(|number| u64::try_from(number).ok()).filter(|number| *number > 0);
        number.ok_or_else(|| format!("`{key}` is a whole number above 0: write `{key} = 100`"))
    };
    Ok(LimitSettings {
        steps: section.value("steps", |item| number("steps", item))?,
        tokens: section.value("tokens", |item| number("tokens", item))?,
        time: section.value("time", |item| {
            let time = item.as_str().and_then(duration);
            time.ok_or_else(|| {
                "`time` is a number and a unit: write `time = \"90s\"`, `\"10m\"` or `\"1h\"`".to_owned()
            })
        })?,
        cost_micros: section.value("cost", |item| {
            #[expect(clippy::cast_precision_loss, reason = "nobody limits a run to billions of dollars")]
            let dollars = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
            dollars.and_then(micros).ok_or_else(|| "`cost` is dollars above 0: write `cost = 2.50`".to_owned())
        })?,
    })
}

fn sandbox(section: &mut Section<'_>) -> Result<SandboxSettings, SettingsError> {
    let needs = [("required", Need::Required), ("if_available", Need::IfAvailable), ("off", Need::Off)];
    Ok(SandboxSettings {
        need: section.word("need", &needs)?,
        network: section.word("network", &[("off", Network::Off), ("on", Network::On)])?,
        write: section.list("write", "~/.cache/pip")?,
        deny_read: section.list("deny_read", "~/private")?,
    })
}

fn instructions(section: &mut Section<'_>) -> Result<InstructionSettings, SettingsError> {
    Ok(InstructionSettings {
        text: section.text("text", "Answer in French.")?.into_iter().collect(),
        project: section
            .value("project", |item| item.as_bool().ok_or_else(|| "`project` is `true` or `false`".to_owned()))?,
    })
}

fn mcp(section: &mut Section<'_>) -> Result<McpSettings, SettingsError> {
    let file = section.value("file", |item| {
        let path = item.as_str().filter(|path| path.starts_with('/') || path.starts_with("~/"));
        let path = path.ok_or("`file` is a path from `/` or `~/`: write `file = \"~/.config/vertebra/mcp.json\"`")?;
        Ok(path.to_owned())
    })?;
    // What is in that file is started, and trust in a project covers the project's files alone.
    match file {
        Some(said) if said.origin.level == Level::Project => {
            Err(section.wrong("file", "a project starts no servers: `[mcp]` belongs into your own settings"))
        }
        file => Ok(McpSettings { file }),
    }
}

/// A time above 0, from a number and a unit: `90s`, `10m`, `1h`.
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    let seconds = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero())
}

/// Millionths of a dollar, from dollars above 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was looked at")]
pub fn micros(dollars: f64) -> Option<u64> {
    let micros = (dollars * 1e6).round();
    (1.0..1e15).contains(&micros).then_some(micros as u64)
}

/// An address of a server, without anything secret in it.
fn address(item: &Item) -> Result<String, String> {
    let text = item.as_str().unwrap_or_default();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err("`base_url` is an address: write `base_url = \"http://localhost:8080/v1\"`".to_owned());
    }
    if host.contains('@') || text.contains(['?', '#']) {
        return Err("`base_url` is an address without user, password or query; keys have variables".to_owned());
    }
    Ok(text.to_owned())
}

/// The name of an environment variable. A key itself is not one.
fn variable(item: &Item) -> Result<String, String> {
    let text = item.as_str().unwrap_or_default();
    let first = text.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '_');
    let rest = text.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    if first && rest && text.len() <= 128 {
        return Ok(text.to_owned());
    }
    Err("`key` is the name of an environment variable, never the key itself: write `key = \"ANTHROPIC_API_KEY\"`"
        .to_owned())
}
