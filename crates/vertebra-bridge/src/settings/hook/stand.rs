//! The point, matcher and order of a hook: the keys of `[[hook]]` that every kind of hook has.

use std::cell::RefCell;

use serde_json::{Map, Value, json};
use vertebra::{AnyPoint, FailurePolicy, HookInfo, POINT_TABLE, Points, Role};

use super::{
    super::{
        Level, SettingsError,
        item::Item,
        reader::{File, Section},
        schema, shape,
    },
    Stand, json as toml, matching,
    place::Place,
    reading::time,
};

/// The largest distance of a priority from 0.
const FARTHEST: i64 = 100_000;

/// The largest number of retries.
const MOST_RETRIES: i64 = 100;

/// The largest number of characters in a name.
const LONGEST_NAME: usize = 100;

/// The keys as written. The defaults of missing keys depend on what the hook does.
pub(super) struct Given {
    pub(super) name: Option<String>,
    pub(super) role: Option<Role>,
    /// The rest, without name and role.
    pub(super) stand: Stand,
    pub(super) place: Place,
}

impl Given {
    pub(super) fn read(section: &mut Section<'_>) -> Result<Self, SettingsError> {
        let names = || POINT_TABLE.iter().map(|point| point.row().name).collect::<Vec<_>>();
        let shape = || json!({ "type": "string", "examples": names() });
        let points = section.points();
        let given = section.value("point", shape, |item| point(item, &points))?;
        // A sketch has no point; it is not kept.
        let point = given.as_ref().map_or(POINT_TABLE[0], |given| given.value);
        let place = match &given {
            Some(_) => Place::of(point),
            None if section.is_sketch() => Place::ANY,
            None => return Err(section.lacks("the hook has no point: write `point = \"BeforeToolUse\"`")),
        };
        let name = section.value("name", || shape::text("no-force-push"), name)?;
        let role = section.word("role", &[("hook", Role::Hook), ("guard", Role::Guard), ("watch", Role::Watch)])?;
        let matcher = matching::of_hook(section, &place)?;
        let priority = section.whole("priority", -FARTHEST..=FARTHEST, 50)?;
        let mut names = |key| -> Result<Vec<String>, SettingsError> {
            let names = section.one_or_more(key, "no-force-push", |name| Ok(name.to_owned()))?;
            Ok(names.into_iter().map(|said| said.value).collect())
        };
        let (before, after) = (names("before")?, names("after")?);
        let timeout = section.value("timeout", || shape::duration("10s"), |item| time("timeout", item))?;
        let max_retries = section.whole("max_retries", 0..=MOST_RETRIES, 2)?;
        let policies = [("open", FailurePolicy::Open), ("closed", FailurePolicy::Closed), ("ask", FailurePolicy::Ask)];
        let on_failure = section.word("on_failure", &policies)?;
        let (shadow, detached) = (section.flag("shadow")?, section.flag("detached")?);
        let stand = Stand {
            name: String::new(),
            point,
            role: Role::Hook,
            matcher,
            priority: priority.map_or(HookInfo::DEFAULT_PRIORITY, |said| i32::try_from(said.value).unwrap_or_default()),
            before,
            after,
            timeout: timeout.map(|said| said.value),
            max_retries: max_retries.map_or(0, |said| u32::try_from(said.value).unwrap_or_default()),
            on_failure: on_failure.map(|said| said.value),
            shadow: shadow.is_some_and(|said| said.value),
            detached: detached.is_some_and(|said| said.value),
        };
        Ok(Self { name: name.map(|said| said.value), role: role.map(|said| said.value), stand, place })
    }
}

impl Stand {
    /// Reads the stand of a hook that a client registers: the keys of `[[hook]]` except those that say what it does. The
    /// hook must have a name; `from` names its author in errors, and `points` are those it may be at.
    pub fn from_json(hook: &Map<String, Value>, from: &str, points: &Points) -> Result<Self, SettingsError> {
        let text = toml::to_table(hook).to_string();
        let points = RefCell::new(points.clone());
        let file = File { points, ..File::new(&text, Level::CommandLine, from, None) };
        schema::whole(&file, |section| {
            let Given { name, role, stand, place } = Given::read(section)?;
            section.finish()?;
            let lacks = || section.lacks("the hook has no name: write `name = \"no-force-push\"`");
            let stand = Self { name: name.ok_or_else(lacks)?, role: role.unwrap_or(Role::Hook), ..stand };
            stand.check(section, &place)?;
            Ok(stand)
        })
    }

    /// Returns the hooks that this hook runs before or after, with the key that names them.
    pub fn constraints(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let before = self.before.iter().map(|name| ("before", name));
        before.chain(self.after.iter().map(|name| ("after", name)))
    }

    /// Rejects keys that have no effect for the role or at the point.
    pub(super) fn check(&self, section: &Section<'_>, place: &Place) -> Result<(), SettingsError> {
        let point = place.point;
        if self.role == Role::Guard && !place.decides {
            section.none_such("role", || {
                format!("a guard has no effect at {point}, where nothing is decided: use \"hook\" or \"watch\"")
            })?;
        }
        if self.role == Role::Guard && self.on_failure.is_some_and(|policy| policy != FailurePolicy::Closed) {
            let why = "a guard always fails closed: remove `on_failure`, or use `role = \"hook\"`";
            section.none_such("on_failure", || why.to_owned())?;
        }
        let refuses = self.on_failure.is_some_and(|policy| policy != FailurePolicy::Open);
        if self.role == Role::Hook && refuses && !place.decides {
            section.none_such("on_failure", || {
                format!("a hook that fails at {point} cannot refuse anything: remove `on_failure`")
            })?;
        }
        if self.role == Role::Watch {
            for key in ["on_failure", "max_retries", "shadow"] {
                section
                    .none_such(key, || format!("`{key}` has no effect on a watch, which decides nothing: remove it"))?;
            }
        } else if self.detached {
            let why = "only a watch can run in the background: add `role = \"watch\"`";
            section.none_such("detached", || why.to_owned())?;
        }
        Ok(())
    }
}

fn point(item: Item<'_>, points: &Points) -> Result<AnyPoint, String> {
    let name = item.as_str().ok_or("`point` must be a string: write `point = \"BeforeToolUse\"`")?;
    points.named(name).map_err(|error| error.to_string())
}

fn name(item: Item<'_>) -> Result<String, String> {
    let name = item.as_str().unwrap_or_default();
    let plain = name.chars().all(|letter| !letter.is_control() && letter != '/');
    if name.trim().is_empty() || !plain || name.chars().count() > LONGEST_NAME {
        return Err(format!(
            "`name` must have 1 to {LONGEST_NAME} characters and no slash: write `name = \"no-force-push\"`"
        ));
    }
    Ok(name.to_owned())
}
