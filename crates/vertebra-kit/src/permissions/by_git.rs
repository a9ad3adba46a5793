//! Files that git writes without naming them: a checkout, a merge or a stash changes whatever differs. Git itself is asked
//! before the call runs.
//!
//! Our own agent does not need this: its sandbox keeps what rules deny.

use std::path::{Path, PathBuf};

use super::{
    command::parts,
    git::written,
    judge::{Explanation, Held, short},
    rule::{Access, Effect, Part},
    subject::Subject,
};

/// In how many folders a command may run.
const MAX_FOLDERS: usize = 4;

/// Judges what the git commands of a call would change, by the rules about changes. May block, because it runs git.
pub(super) fn judged_by_git(subject: &Subject, rules: &[&Held]) -> Option<Explanation> {
    let about = |effect: Effect| {
        rules.iter().filter(move |held| held.effect == effect).filter_map(|held| match &held.rule.part {
            Part::Path(Access::Edit, pattern) => Some((*held, pattern)),
            Part::All | Part::Command(_) | Part::Path(..) | Part::Host(_) => None,
        })
    };
    [Effect::Deny, Effect::Ask].into_iter().flat_map(|effect| about(effect).map(move |rule| (effect, rule))).find_map(
        |(effect, (held, pattern))| {
            let refuses = |path: &Path| pattern.refuses(&path.to_string_lossy(), &subject.wide_base);
            let (command, path) = changed(subject, &refuses)?;
            let (command, path) = (short(command), path.display());
            let reason = match effect {
                Effect::Deny => format!("denied by {}: `{command}` would change {path}", held.listed()),
                Effect::Ask | Effect::Allow => format!("`{command}` would change {path}, and {} asks", held.listed()),
            };
            Some(Explanation::by_rules(effect, reason, vec![held.listed()]))
        },
    )
}

/// Returns the first of the files that count which a git command would write or remove, with the command.
fn changed<'s>(subject: &'s Subject, counts: &dyn Fn(&Path) -> bool) -> Option<(&'s str, PathBuf)> {
    subject.commands.iter().find_map(|command| {
        let words: Vec<String> = subcommand(&parts(command).0)?.iter().map(|word| (*word).to_owned()).collect();
        let mut folders = subject.here.iter().take(MAX_FOLDERS);
        folders.find_map(|here| written(here, &words, counts).into_iter().next()).map(|path| (command.as_str(), path))
    })
}

/// Returns the words of a git command from its subcommand on.
fn subcommand<'w, 'c>(words: &'w [&'c str]) -> Option<&'w [&'c str]> {
    let (program, mut rest) = words.split_first()?;
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    loop {
        rest = match rest.first()? {
            &("-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") => rest.get(2..)?,
            option if option.starts_with('-') => &rest[1..],
            _ => return Some(rest),
        };
    }
}
