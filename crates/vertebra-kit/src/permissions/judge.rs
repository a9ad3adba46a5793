//! Judges a call by the rules, then by the mode.

use std::{
    cell::{LazyCell, RefCell},
    fmt,
    sync::{Arc, LazyLock},
};

use serde::Serialize;

use super::{
    Mode,
    by_git::judged_by_git,
    combed::combed_by,
    command::{only_wraps, parts},
    fetches::fetched_by,
    path::{PathPattern, Place, relative},
    rule::{Access, Effect, Part, Rule},
    subject::Subject,
};
use crate::{
    bash::{
        Lift,
        policy::{self, Class, Decision},
    },
    protected::is_protected,
};

/// A rule and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The effect of the rule.
    pub effect: Effect,
    /// The rule.
    pub rule: Arc<str>,
    /// Where it comes from, such as `user settings`.
    pub source: Arc<str>,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}` of {}", self.rule, self.source)
    }
}

/// The judgement about a call and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The effect, or `None` if neither rules nor mode decide because the tool only reads.
    pub effect: Option<Effect>,
    /// The reason, for the model and for people.
    pub reason: String,
    /// The rules that decided.
    pub rules: Vec<Listed>,
    /// Whether it is allowed only because a sandbox holds it.
    pub needs_sandbox: bool,
}

impl Explanation {
    pub(super) fn by(effect: Effect, reason: impl Into<String>) -> Self {
        Self { effect: Some(effect), reason: reason.into(), rules: Vec::new(), needs_sandbox: false }
    }

    pub(super) fn by_rules(effect: Effect, reason: String, rules: Vec<Listed>) -> Self {
        Self { rules, ..Self::by(effect, reason) }
    }

    fn undecided(reason: impl Into<String>) -> Self {
        Self { effect: None, reason: reason.into(), rules: Vec::new(), needs_sandbox: false }
    }

    /// Returns whether the mode, and no rule, asks. Then another hook can allow the call.
    pub(super) fn is_open_question(&self) -> bool {
        self.effect == Some(Effect::Ask) && self.rules.is_empty()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// A rule in force.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) effect: Effect,
    pub(super) rule: Arc<Rule>,
    pub(super) source: Arc<str>,
    pub(super) reach: Reach,
}

/// Where a rule applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// In all sessions.
    Everywhere,
    /// In this session.
    Session(Arc<str>),
    /// In sessions that work in this folder.
    Folder(Arc<str>),
}

impl Held {
    pub(super) fn listed(&self) -> Listed {
        Listed { effect: self.effect, rule: self.rule.text().clone(), source: self.source.clone() }
    }
}

/// What decides about calls that no rule matches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Otherwise<'s> {
    pub(super) mode: Mode,
    pub(super) session: &'s str,
    /// The sandbox in which commands run, and what the session was granted in it.
    pub(super) lift: Option<&'s Lift>,
    /// Whether to judge as if the call had all the network that it needs.
    pub(super) with_network: bool,
    /// Whether another agent makes the call: it runs outside of our sandbox, and its result is not searched.
    pub(super) is_unheld: bool,
}

/// Judges a call. Deny is stronger than ask, and ask is stronger than allow, whatever their source. The mode decides about
/// calls that no rule matches.
pub(super) fn judge(subject: &Subject, rules: &[&Held], otherwise: Otherwise<'_>) -> Explanation {
    let mode = otherwise.mode;
    let of = |effect: Effect| rules.iter().filter(move |held| held.effect == effect);
    let hits = |effect: Effect| -> Vec<Listed> {
        of(effect).filter(|held| held.rule.hits(subject)).map(|held| held.listed()).collect()
    };
    let name = subject.names.first().map_or("the tool", |name| &**name);
    let denied = hits(Effect::Deny);
    if let Some(first) = denied.first() {
        let reason = format!("denied by {first}{}", subject.broken_by(&first.rule));
        return Explanation::by_rules(Effect::Deny, reason, denied);
    }
    let combed =
        if otherwise.is_unheld { judged_by_git(subject, rules).or_else(|| combed_by(subject, rules)) } else { None };
    if let Some(told) = combed.as_ref().filter(|told| told.effect == Some(Effect::Deny)) {
        return told.clone();
    }
    if mode == Mode::Plan && !subject.read_only && !subject.is_reading_command() {
        // If a line cannot be told apart, all of its commands are listed.
        let blamed = || subject.more().iter().find(|command| !subject.only_reads(command)).or(subject.line.as_ref());
        let what = blamed().filter(|_| subject.is_bash()).map_or(name, |command| command);
        let reason = format!(
            "plan mode is on and `{}` does more than read; describe what you would do, and let the user leave plan mode",
            short(what)
        );
        return Explanation::by(Effect::Deny, reason);
    }
    let asked = hits(Effect::Ask);
    if let Some(first) = asked.first() {
        let reason = format!("{first} asks{}", subject.broken_by(&first.rule));
        return Explanation::by_rules(Effect::Ask, reason, asked);
    }
    if let Some(told) = combed {
        return told;
    }
    if let Some(command) = &subject.hidden {
        let refusing = [Effect::Deny, Effect::Ask].into_iter().flat_map(of);
        let unsure =
            refusing.filter(|held| matches!(held.rule.part, Part::Command(_))).map(|held| held.listed()).next();
        if let Some(rule) = unsure {
            let reason = format!("`{}` cannot be known before it runs, so {rule} may match it", short(command));
            return Explanation::by_rules(Effect::Ask, reason, vec![rule]);
        }
    }
    let allowing: Vec<&Held> = of(Effect::Allow).copied().collect();
    if let Some(by) = covering(subject, &allowing) {
        let names: Vec<String> = by.iter().map(ToString::to_string).collect();
        let reason = format!("allowed by {}", names.join(", "));
        return Explanation::by_rules(Effect::Allow, reason, by);
    }
    match mode {
        Mode::Bypass => Explanation::by(Effect::Allow, "allowed: bypass mode never asks"),
        Mode::AcceptEdits | Mode::Sandboxed if edits_within(subject, otherwise) => {
            Explanation::by(Effect::Allow, "allowed: edits in the working folder are accepted")
        }
        _ if subject.read_only => Explanation::undecided(format!("`{name}` only reads")),
        Mode::Sandboxed if subject.is_bash() => match still_asked(subject, otherwise) {
            Some(reason) => Explanation::by(Effect::Ask, reason),
            None => Explanation {
                needs_sandbox: true,
                ..Explanation::by(Effect::Allow, "allowed: commands in the sandbox are accepted")
            },
        },
        Mode::Plan => Explanation::undecided("the command only reads"),
        Mode::Ask | Mode::AcceptEdits | Mode::Sandboxed => Explanation::by(Effect::Ask, unanswered(subject, name)),
    }
}

/// Commands that need approval although a sandbox holds them: they throw away work that only the folder has, or publish
/// something.
const ASKED_IN_SANDBOX: &[&str] = &[
    "Bash(cargo publish *)",
    "Bash(docker *)",
    "Bash(gh *)",
    "Bash(git *--force*)",
    "Bash(git branch * -D *)",
    "Bash(git branch -D *)",
    "Bash(git checkout * -- *)",
    "Bash(git checkout * -f *)",
    "Bash(git checkout * .)",
    "Bash(git checkout -- *)",
    "Bash(git checkout -f *)",
    "Bash(git checkout .*)",
    "Bash(git clean *)",
    "Bash(git filter-branch *)",
    "Bash(git gc *)",
    "Bash(git prune *)",
    "Bash(git push *)",
    "Bash(git reflog *)",
    "Bash(git reset *--hard*)",
    "Bash(git restore *)",
    "Bash(git stash clear *)",
    "Bash(git stash drop *)",
    "Bash(git switch * -f *)",
    "Bash(git switch *--discard-changes*)",
    "Bash(git switch -f *)",
    "Bash(git update-ref *)",
    "Bash(npm publish *)",
    "Bash(pnpm publish *)",
    "Bash(poetry publish *)",
    "Bash(twine upload *)",
    "Bash(uv publish *)",
    "Bash(yarn publish *)",
];

/// Returns why a command needs approval although a sandbox holds it, if it does.
fn still_asked(subject: &Subject, otherwise: Otherwise<'_>) -> Option<String> {
    static RULES: LazyLock<Vec<Rule>> =
        LazyLock::new(|| ASKED_IN_SANDBOX.iter().filter_map(|rule| rule.parse().ok()).collect());
    let losing = subject.commands.iter().find(|command| {
        let plain = without_options_of_git(command);
        let words: Vec<&str> = plain.split(' ').collect();
        if loses_nothing(&words) {
            return false;
        }
        takes_back(subject, &words)
            || RULES.iter().any(|rule| matches!(&rule.part, Part::Command(pattern) if pattern.holds_somehow(&plain)))
    });
    match losing {
        Some(command) => Some(format!("`{}` may throw away or publish work", short(command))),
        None if subject.needs.is_some() || otherwise.with_network => harm(subject, false),
        None => {
            let reaches = |command: &str| otherwise.lift.is_some_and(|lift| lift.reaches(otherwise.session, command));
            let fetches = subject.commands.iter().find_map(|command| fetched_by(command).filter(|_| !reaches(command)));
            let sends_nowhere = otherwise.lift.is_some_and(|lift| lift.sends_nowhere(otherwise.session));
            fetches.map(|what| format!("`{}` needs the network", short(&what))).or_else(|| harm(subject, sends_nowhere))
        }
    }
}

/// Returns whether a command is one of those, but with words that let it only show something, or change no file.
fn loses_nothing(words: &[&str]) -> bool {
    let options = || words.iter().take_while(|word| **word != "--").filter(|word| word.starts_with('-'));
    // One that only these letters stand behind has no value.
    let has = |long: &str, short: char, letters: &str| {
        let is_short = |word: &str| word.contains(short) && word[1..].chars().all(|letter| letters.contains(letter));
        options().any(|word| *word == long || is_short(word))
    };
    // Git takes the beginning of an option for the option.
    let begins = |start: &str| options().any(|word| word.starts_with(start));
    match words {
        ["git", "restore", ..] => {
            has("--staged", 'S', "Sq")
                && !begins("--w")
                && !options().any(|word| !word.starts_with("--") && word.contains('W'))
                && !begins("--no")
        }
        ["git", "clean", ..] => has("--dry-run", 'n', "dfnqxX") && !begins("--no"),
        ["git", "push", ..] | ["cargo" | "npm" | "pnpm" | "uv", "publish", ..] => policy::is_dry_run(words),
        ["docker", "ps" | "images" | "logs" | "inspect" | "version" | "info" | "port" | "top", ..]
        | ["docker", "compose", "ps" | "logs", ..] => true,
        _ => false,
    }
}

/// Returns whether `git checkout` gets a file and not a branch: the changes in it are lost.
fn takes_back(subject: &Subject, words: &[&str]) -> bool {
    let ["git", "checkout", rest @ ..] = words else { return false };
    let makes = |word: &&str| matches!(*word, "-b" | "-B" | "--orphan");
    let is_file = |word: &&str| !word.starts_with('-') && (word.contains(['*', '?', ':']) || subject.is_there(word));
    !rest.iter().any(makes) && rest.iter().any(is_file)
}

/// Returns why a person must approve a command although a sandbox holds it, if the policy says so. What the policy only does
/// not know, and what is written outside of the folder, a sandbox holds. It also holds what would be sent, if the network is
/// closed to it.
fn harm(subject: &Subject, sends_nowhere: bool) -> Option<String> {
    let (Some(line), Some(ground)) = (&subject.line, &subject.ground) else {
        return Some("the command cannot be judged before it runs".to_owned());
    };
    let judgement = policy::judge(line, ground);
    let is_held = match judgement.decision {
        Decision::Allow => true,
        Decision::Ask => judgement.classes.iter().all(|class| match class {
            Class::Unknown | Class::WriteOutside => true,
            Class::NetworkExfiltration => sends_nowhere,
            _ => false,
        }),
        Decision::Deny => false,
    };
    (!is_held).then_some(judgement.reason)
}

/// Returns a command of git without the options before its subcommand: `git -C a reset` is `git reset`.
fn without_options_of_git(command: &str) -> String {
    let (words, _) = parts(command);
    let mut rest = words.iter();
    let mut plain: Vec<&str> = rest.by_ref().take_while(|word| !word.ends_with("git")).copied().collect();
    if plain.len() == words.len() {
        return command.to_owned();
    }
    plain.push("git");
    let mut rest = rest.peekable();
    while let Some(option) = rest.next_if(|word| word.starts_with('-')) {
        if matches!(*option, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") {
            rest.next();
        }
    }
    plain.extend(rest);
    plain.join(" ")
}

/// Says why a call that no rule matches needs approval.
fn unanswered(subject: &Subject, name: &str) -> String {
    if subject.is_edit() {
        return "no rule allows this edit".to_owned();
    }
    match subject.more() {
        [command] if subject.is_bash() && subject.commands.len() > 1 => format!("no rule allows `{}`", short(command)),
        _ if subject.is_bash() => "no rule allows this command".to_owned(),
        _ => format!("no rule allows this use of `{name}`"),
    }
}

/// Returns the start of a command, to name it in a sentence.
pub(super) fn short(command: &str) -> String {
    const MOST: usize = 60;
    let end = command.floor_char_boundary(MOST);
    let more = if end < command.len() { "…" } else { "" };
    format!("{}{more}", &command[..end])
}

impl Rule {
    /// Returns whether the rule matches any part of the call. Deny and ask rules match broadly on purpose.
    pub(super) fn hits(&self, subject: &Subject) -> bool {
        let named = || subject.places.iter();
        let touched = || subject.touched.iter();
        let holds = |pattern: &PathPattern, place: &Place| place.any(|path| pattern.refuses(path, &subject.wide_base));
        match &self.part {
            Part::All => subject.is_called(&self.tool),
            Part::Command(pattern) => {
                let whole = subject.line.as_deref().is_some_and(|line| pattern.holds(line));
                whole || subject.commands.iter().chain(&subject.further).any(|command| pattern.holds_somehow(command))
            }
            Part::Path(Access::Read, pattern) => {
                named().chain(touched().map(|touched| &touched.place)).any(|place| holds(pattern, place))
                    || subject.git.broken.iter().any(|(rule, _)| rule == self.text())
            }
            Part::Path(Access::Edit, pattern) => {
                (!subject.read_only && named().any(|place| holds(pattern, place)))
                    || touched().any(|touched| touched.changes && holds(pattern, &touched.place))
                    || subject
                        .moved
                        .iter()
                        .any(|moved| moved.any(|folder| pattern.is_below(folder, &subject.wide_base)))
                    || (subject.unknown_patch && subject.may_reach(pattern))
            }
            Part::Path(Access::Named, pattern) => {
                subject.is_called(&self.tool) && named().any(|place| holds(pattern, place))
            }
            Part::Host(pattern) => {
                let mut hosts = subject.hosts.iter().chain(&subject.command_hosts);
                hosts.any(|host| host.as_deref().is_none_or(|host| pattern.holds(host)))
            }
        }
    }

    /// Returns whether the rule, as a deny rule for reading, matches a path that a search found.
    pub(super) fn refuses_found(&self, subject: &Subject, path: &str) -> bool {
        let Part::Path(_, pattern) = &self.part else { return false };
        subject.found(path).any(|place| place.any(|path| pattern.refuses(path, &subject.wide_base)))
    }

    /// Returns whether the rule, as an allow rule, matches this path in this call.
    fn allows_path(&self, subject: &Subject, path: &str, access: Access) -> bool {
        let Part::Path(of, pattern) = &self.part else { return false };
        (*of == access || (*of == Access::Named && subject.is_called(&self.tool))) && pattern.holds(path, &subject.base)
    }
}

/// Returns the rules that together allow every part of the call, or `None` if a part is not allowed.
fn covering(subject: &Subject, allowing: &[&Held]) -> Option<Vec<Listed>> {
    let whole = allowing.iter().find(|held| matches!(held.rule.part, Part::All) && subject.is_called(&held.rule.tool));
    if let Some(held) = whole {
        return Some(vec![held.listed()]);
    }
    if allowing.is_empty() {
        return None;
    }
    let used = RefCell::new(Vec::new());
    let allows = |fits: &dyn Fn(&Rule) -> bool| match allowing.iter().find(|held| fits(&held.rule)) {
        Some(held) => {
            let listed = held.listed();
            let mut used = used.borrow_mut();
            if !used.contains(&listed) {
                used.push(listed);
            }
            true
        }
        None => false,
    };
    let allows_place =
        |place: &Place, access| place.all(|path| allows(&|rule| rule.allows_path(subject, path, access)));
    let covered = if subject.is_bash() {
        let at_home = subject.places.iter().all(|place| place.all(|path| is_below_folder(subject, path)));
        let all = |commands: &[String]| {
            used.borrow_mut().clear();
            let files = commands.iter().all(|command| {
                let (_, redirections) = parts(command);
                redirections.iter().filter(|redirection| !redirection.is_harmless()).all(|redirection| {
                    subject.target(redirection).is_some_and(|place| allows_place(&place, Access::Edit))
                })
            });
            let others = bare(commands);
            !commands.is_empty()
                && files
                && others.iter().all(|words| {
                    let fits = |rule: &Rule| matches!(&rule.part, Part::Command(pattern) if pattern.holds(words));
                    words.is_empty() || allows(&fits) || only_wraps(words, &others) || subject.only_reads(words)
                })
        };
        // Commands that only read need no rule.
        at_home && (all(&subject.commands) || all(subject.more()))
    } else if !subject.hosts.is_empty() {
        let fits = |host: &str, rule: &Rule| match &rule.part {
            Part::Host(pattern) => subject.is_called(&rule.tool) && pattern.holds(host),
            Part::All | Part::Command(_) | Part::Path(..) => false,
        };
        let hosts = subject.hosts.iter().all(|host| {
            let Some(host) = host.as_deref() else { return false };
            allows(&|rule| fits(host, rule))
        });
        hosts && subject.places.is_empty()
    } else if subject.read_only || subject.is_edit() {
        let access = if subject.read_only { Access::Read } else { Access::Edit };
        !subject.places.is_empty() && subject.places.iter().all(|place| allows_place(place, access))
    } else {
        !subject.places.is_empty() && subject.places.iter().all(|place| allows_place(place, Access::Named))
    };
    let used = used.into_inner();
    (covered && !used.is_empty()).then_some(used)
}

fn bare(commands: &[String]) -> Vec<String> {
    commands.iter().map(|command| parts(command).0.join(" ")).collect()
}

fn is_below_folder(subject: &Subject, path: &str) -> bool {
    subject.base.folders.iter().any(|folder| relative(folder, path).is_some())
}

/// Returns whether the call only changes unprotected files in the working folder, or in folders that a person granted to the
/// session.
fn edits_within(subject: &Subject, otherwise: Otherwise<'_>) -> bool {
    let granted = LazyCell::new(|| otherwise.lift.map(|lift| lift.held(otherwise.session).write).unwrap_or_default());
    let open = |path: &str| {
        let rest = subject.base.folders.iter().find_map(|folder| relative(folder, path));
        let in_granted = || granted.iter().find_map(|folder| relative(folder.to_str()?, path));
        rest.or_else(in_granted).is_some_and(|rest| !is_protected(rest))
    };
    subject.is_edit() && !subject.places.is_empty() && subject.places.iter().all(|place| place.all(|path| open(path)))
}
