//! Reads `[[hook]]`. A hook that cannot work is an error, because a hook that is silently ignored protects nothing.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use vertebra::{Changeable, Kind, Role};

use super::{
    super::{
        Origin, Said, SettingsError,
        item::{Item, object},
        reader::Section,
        shape,
    },
    Action, HookSettings, RunSettings, Stand,
    place::Place,
    run,
    stand::Given,
};
use crate::wire::Reply;

/// The verdicts that take a text: the key in the file, the kind, and the name of the text on the wire.
const VERDICTS: &[(&str, Kind, &str)] = &[
    ("deny", Kind::Deny, "reason"),
    ("ask", Kind::Ask, "reason"),
    ("stop", Kind::Stop, "reason"),
    ("halt", Kind::Halt, "reason"),
    ("continue", Kind::GoOn, "instruction"),
];

/// The keys that change the event or the context.
const CHANGES: &[&str] = &["set", "patch", "add_context"];

/// Reads all hooks of a file.
pub(in super::super) fn read(root: &mut Section<'_>) -> Result<Vec<Said<Arc<HookSettings>>>, SettingsError> {
    let names = RefCell::new(BTreeMap::new());
    root.tables("hook", None, |section, origin| {
        let Some(hook) = hook(section, origin)? else { return Ok(None) };
        match names.borrow_mut().insert(hook.stand.name.clone(), origin.line.unwrap_or_default()) {
            None => Ok(Some(Arc::new(hook))),
            Some(line) => {
                let message =
                    format!("the hook on line {line} is also named `{}`: rename one of them", hook.stand.name);
                Err(section.wrong("name", message))
            }
        }
    })
}

fn hook(section: &mut Section<'_>, origin: &Origin) -> Result<Option<HookSettings>, SettingsError> {
    let Given { name, role, stand, place } = Given::read(section)?;
    let enabled = section.flag("enabled")?;
    let reply = reply(section, &place)?;
    let run = section.section("run", run::read)?;
    if section.is_sketch() {
        return Ok(None);
    }
    // A misspelt key is reported before the keys that are missing because of it.
    section.finish()?;
    let (action, timeout) = match (reply, run) {
        (Some((key, _)), Some(_)) => {
            let message = format!("a hook has either a fixed answer or `run`: remove `{key}` or `run`");
            return Err(section.wrong(key, message));
        }
        (None, None) => {
            let message = "the hook does nothing: add `deny = \"why\"`, another answer, or `run = { command = \"…\" }`";
            return Err(section.lacks(message));
        }
        (Some((_, reply)), None) => (Action::Say(Arc::new(reply)), None),
        (None, Some(run)) => {
            if stand.timeout.is_some() && run.timeout.is_some() {
                return Err(section.wrong("timeout", "`timeout` is set twice: remove this one or the one in `run`"));
            }
            (Action::Run(run.settings), stand.timeout.or(run.timeout))
        }
    };
    // One command that matches must not let the others of its line run without approval.
    let matcher = stand.matcher.map(|matcher| if allows(&action) { matcher.for_every() } else { matcher });
    let stand = Stand {
        matcher,
        name: name.unwrap_or_else(|| format!("{}:{}", origin.level, origin.line.unwrap_or_default())),
        role: role.unwrap_or_else(|| usual_role(&action, &place)),
        timeout,
        ..stand
    };
    stand.check(section, &place)?;
    check(section, &stand, &action)?;
    Ok(Some(HookSettings { stand, enabled: enabled.is_none_or(|said| said.value), action }))
}

/// Whether a hook always allows the call.
fn allows(action: &Action) -> bool {
    let Action::Say(reply) = action else { return false };
    reply.verdict.as_ref().and_then(|verdict| verdict.get("verdict")).is_some_and(|verdict| verdict == "allow")
}

/// Returns the default role. A hook that only denies or asks is a guard and sees the final form of a call. A hook that
/// allows must run before the permission rules, and a handler may change something, so both are plain hooks.
fn usual_role(action: &Action, place: &Place) -> Role {
    let kind = match action {
        Action::Say(reply) if !reply.changes() => reply.verdict.as_ref().and_then(|verdict| verdict.get("verdict")),
        Action::Say(_) | Action::Run(_) => None,
    };
    match kind.and_then(Value::as_str) {
        Some("allow" | "retry") | None => Role::Hook,
        Some(_) if place.decides => Role::Guard,
        Some(_) => Role::Hook,
    }
}

/// Rejects actions that the role or the point does not support.
fn check(section: &Section<'_>, stand: &Stand, action: &Action) -> Result<(), SettingsError> {
    match (stand.role, action) {
        (Role::Guard, Action::Say(_)) => {
            for key in CHANGES {
                section.none_such(key, || {
                    format!("a guard cannot change anything: use `role = \"hook\"`, or remove `{key}`")
                })?;
            }
        }
        (Role::Watch, Action::Say(_)) => {
            let keys = VERDICTS.iter().map(|(key, ..)| *key).chain(["allow", "retry"]).chain(CHANGES.iter().copied());
            for key in keys {
                section.none_such(key, || {
                    format!(
                        "a watch cannot decide or change anything: use another `role`, or replace `{key}` with `run`"
                    )
                })?;
            }
        }
        (Role::Guard | Role::Watch, Action::Run(_)) | (Role::Hook | Role::Around, _) => {}
    }
    if matches!(action, Action::Say(_)) {
        for key in ["timeout", "max_retries"] {
            section.none_such(key, || format!("`{key}` has no effect without `run`: remove it"))?;
        }
    }
    let asks_a_model = matches!(action, Action::Run(RunSettings::Prompt { .. }));
    let point = stand.point.row().name;
    if asks_a_model && matches!(point, "BeforeInference" | "InferenceDelta" | "AfterInference") {
        section.none_such("run", || {
            format!(
                "a `prompt` asks a model, so it cannot run at {point}, which is part of a model call: use `command`"
            )
        })?;
    }
    Ok(())
}

/// Reads the fixed answer of a hook. Returns it with the first key that is part of it.
fn reply(section: &mut Section<'_>, place: &Place) -> Result<Option<(&'static str, Reply)>, SettingsError> {
    let mut verdicts: Vec<(&'static str, Kind, Map<String, Value>)> = Vec::new();
    let wire = |kind: Kind| serde_json::to_value(kind).unwrap_or_default();
    for (key, kind, text) in VERDICTS {
        if let Some(said) = section.text(key, "why")? {
            if said.value.trim().is_empty() {
                return Err(section.wrong(key, format!("`{key}` must not be empty: write `{key} = \"why\"`")));
            }
            let fields = [("verdict".to_owned(), wire(*kind)), ((*text).to_owned(), said.value.into())];
            verdicts.push((key, *kind, fields.into_iter().collect()));
        }
    }
    let yes = |item: Item<'_>| match item.as_bool() {
        Some(true) => Ok(()),
        _ => Err("`allow` can only be `true`: write `allow = true`, or remove it".to_owned()),
    };
    if section.value("allow", || json!({ "const": true }), yes)?.is_some() {
        verdicts.push(("allow", Kind::Allow, [("verdict".to_owned(), wire(Kind::Allow))].into_iter().collect()));
    }
    if let Some(after) = section.value("retry", || shape::duration("2s"), |item| time("retry", item))? {
        let millis = u64::try_from(after.value.as_millis()).unwrap_or(u64::MAX);
        let fields = [("verdict".to_owned(), wire(Kind::Retry)), ("after_ms".to_owned(), millis.into())];
        verdicts.push(("retry", Kind::Retry, fields.into_iter().collect()));
    }
    let object = |key: &'static str| {
        move |item: Item<'_>| {
            let fields =
                item.fields().ok_or_else(|| format!("`{key}` must be a table: write `{key} = {{ timeout = 30 }}`"))?;
            object(fields).map(Value::Object)
        }
    };
    let set = section.value("set", shape::object, object("set"))?;
    let patch = section.value("patch", shape::object, object("patch"))?;
    let context =
        section.one_or_more("add_context", "The tests are run with `just test`.", |text| Ok(text.to_owned()))?;
    if set.is_some() && patch.is_some() {
        return Err(section.wrong("patch", "`set` and `patch` cannot be combined: remove one of them"));
    }
    let mut said = verdicts.into_iter();
    let verdict = said.next();
    if let (Some((first, ..)), Some((second, ..))) = (&verdict, said.next()) {
        return Err(section.wrong(second, format!("a hook gives one verdict: `{first}` or `{second}`, not both")));
    }
    if let Some((key, kind, _)) = &verdict
        && !place.powers.contains(kind)
    {
        return Err(section.wrong(key, cannot(key, *kind, place)));
    }
    let changed = CHANGES.iter().find(|key| section.has(key)).copied();
    let Some(key) = verdict.as_ref().map(|(key, ..)| *key).or(changed) else { return Ok(None) };
    let reply = Reply {
        verdict: verdict.map(|(_, _, fields)| fields),
        set: set.map(|said| said.value),
        patch: patch.map(|said| said.value),
        context: context.into_iter().map(|said| said.value).collect(),
        ..Reply::default()
    };
    match (place.takes(&reply), changed) {
        (Ok(()), _) => Ok(Some((key, reply))),
        (Err(_), Some(changed)) if place.open == Changeable::Nothing => {
            let points = Place::all_that(|place| place.open != Changeable::Nothing);
            Err(section
                .wrong(changed, format!("hooks cannot change anything at {}; they can at {points}", place.point)))
        }
        (Err(message), changed) => Err(section.wrong(changed.unwrap_or(key), message)),
    }
}

/// Explains why a verdict is not possible at a point, which verdicts are, and where this one is.
fn cannot(key: &str, kind: Kind, place: &Place) -> String {
    let texts = VERDICTS.iter().map(|(key, kind, _)| (*key, *kind));
    let here =
        texts.chain([("allow", Kind::Allow), ("retry", Kind::Retry)]).filter(|(_, kind)| place.powers.contains(kind));
    let here: Vec<String> = here.map(|(key, _)| format!("`{key}`")).collect();
    let here = if here.is_empty() {
        "where nothing is decided".to_owned()
    } else {
        format!("which accepts {}", here.join(", "))
    };
    let elsewhere = Place::all_that(|place| place.powers.contains(&kind));
    format!("`{key}` is not possible at {}, {here}; use `{key}` at {elsewhere}", place.point)
}

/// Reads a duration.
pub(super) fn time(key: &str, item: Item<'_>) -> Result<Duration, String> {
    let time = item.as_str().and_then(super::super::duration);
    time.ok_or_else(|| {
        format!("`{key}` must be a number with a unit: write `{key} = \"10s\"`, `\"500ms\"` or `\"2m\"`")
    })
}
