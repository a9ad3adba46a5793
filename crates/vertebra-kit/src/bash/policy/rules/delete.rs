//! Deletion.

use super::super::{
    Class,
    fields::Field,
    invoke::Call,
    judge::Judge,
    options,
    places::{Place, Verb, is_below},
    value::{is_known, shown},
};

pub(super) fn rm(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(call.args(), |_| false, false);
    let long = |(name, _): &(String, _)| name.len() > 4 && "--recursive".starts_with(name.as_str());
    let recursive = parsed.has(&["-r", "-R"]) || parsed.options.iter().any(long);
    if parsed.has(&["--no-preserve-root"]) {
        judge.deny(Class::SystemDestruction, "deletes the root of the file system");
    }
    if parsed.options.iter().any(|(name, _)| !is_known(name)) {
        judge.unknown("how it deletes is not known before it runs");
    }
    for operand in &parsed.operands {
        delete(judge, operand, recursive);
    }
    String::new()
}

pub(super) fn shred(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(call.args(), |name| matches!(name, "-n" | "-s" | "--iterations" | "--size"), false);
    for operand in &parsed.operands {
        delete(judge, operand, false);
    }
    String::new()
}

/// Judges the deletion of one path.
pub(super) fn delete(judge: &mut Judge<'_>, target: &Field, recursive: bool) {
    let text = shown(&target.text);
    let place = judge.place(&target.text);
    if !recursive {
        let everything = target.glob && matches!(target.text.rsplit('/').next(), Some("*" | ".*" | "?*"));
        match place {
            Place::Inside | Place::Scratch if everything => {
                judge.ask(Class::RecursiveDelete, format!("`{text}` may stand for every file"));
            }
            Place::Unknown => judge.ask(Class::RecursiveDelete, "what is deleted is not known before it runs"),
            _ => judge.write(target, Verb::Destroy),
        }
        return;
    }
    let class = Class::RecursiveDelete;
    match place {
        Place::Inside | Place::Later => inside(judge, target),
        Place::Scratch => {
            let path = judge.resolved(&target.text).unwrap_or_default();
            let whole = judge.ground.writable.iter().any(|folder| is_below(folder, path.trim_end_matches("/*")));
            if whole {
                judge.deny(class, format!("deletes all of {text}"));
            }
        }
        Place::Unknown => judge.ask(class, "what is deleted with all that is in it is not known before it runs"),
        Place::System | Place::Device if text != "/dev/null" => {
            judge.deny(Class::SystemDestruction, format!("deletes {text}, which belongs to the system"));
            judge.deny(class, format!("deletes {text} with all that is in it"));
        }
        Place::Persistent | Place::Outside | Place::System | Place::Device | Place::Network => {
            judge.deny(class, format!("deletes {text}, outside of the working folder, with all that is in it"));
        }
    }
}

/// A named folder within the working folder is everyday work; all of it is not.
fn inside(judge: &mut Judge<'_>, target: &Field) {
    let class = Class::RecursiveDelete;
    let Some(path) = judge.resolved(&target.text) else { return };
    let (folder, home) = (&judge.ground.folder, &judge.ground.home);
    let text = shown(&target.text);
    let last = path.rsplit('/').next().unwrap_or_default();
    if is_below(folder, &path) {
        judge.deny(class, "deletes the working folder");
    } else if path.contains("/.git/") || last == ".git" {
        judge.deny(class, "deletes the history of the project");
    } else if target.glob && last.trim_matches(['*', '?', '.', '[', ']', '!']).is_empty() {
        judge.ask(class, format!("`{text}` may stand for everything"));
    } else if is_below(home, folder) {
        judge.ask(class, format!("deletes {text}, and the working folder is, or holds, the home folder"));
    } else if !is_known(&target.text) {
        judge.ask(class, format!("a part of {text} is not known before it runs"));
    }
}
