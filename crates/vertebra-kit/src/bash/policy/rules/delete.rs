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
        judge.deny(Class::SystemDestruction, "`--no-preserve-root` allows `rm` to delete the root of the file system");
    }
    if parsed.options.iter().any(|(name, _)| !is_known(name)) {
        judge.unknown("cannot tell how this deletes: an option is only known at run time");
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
pub(in super::super) fn delete(judge: &mut Judge<'_>, target: &Field, recursive: bool) {
    let text = shown(&target.text);
    let place = judge.place(&target.text);
    if !recursive {
        let everything = target.glob && matches!(target.text.rsplit('/').next(), Some("*" | ".*" | "?*"));
        match place {
            Place::Inside | Place::Scratch if everything => {
                judge.ask(Class::RecursiveDelete, format!("`{text}` may match every file in the folder"));
            }
            Place::Unknown => {
                judge.ask(
                    Class::RecursiveDelete,
                    "cannot tell which files this deletes: the path is only known at run time",
                );
            }
            _ => judge.write(target, Verb::Destroy),
        }
        return;
    }
    let class = Class::RecursiveDelete;
    match place {
        Place::Later if judge.holds_policy(&target.text) => judge.write(target, Verb::Destroy),
        Place::Inside | Place::Later => inside(judge, target),
        Place::Scratch => {
            let path = judge.resolved(&target.text).unwrap_or_default();
            let whole = judge.ground.writable.iter().any(|folder| is_below(folder, path.trim_end_matches("/*")));
            let holds = |inner: &str| is_below(inner, path.trim_end_matches("/*"));
            if holds(&judge.ground.folder) || holds(&judge.ground.home) {
                judge.deny(class, format!("deletes {text}, which holds the working folder or the home folder"));
            } else if whole {
                judge.deny(class, format!("deletes all of {text}"));
            }
        }
        Place::Unknown => judge.ask(class, "cannot tell which folder this deletes: the path is only known at run time"),
        Place::System | Place::Device if text != "/dev/null" => {
            judge.deny(Class::SystemDestruction, format!("deletes {text}, which belongs to the system"));
            judge.deny(class, format!("deletes {text} and everything in it"));
        }
        Place::Persistent | Place::Outside | Place::System | Place::Device | Place::Network => {
            judge.deny(class, format!("deletes {text} and everything in it, outside the working folder"));
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
        judge.deny(class, "deletes the project's git history");
    } else if target.glob && last.trim_matches(['*', '?', '.', '[', ']', '!']).is_empty() {
        judge.ask(class, format!("`{text}` may match everything in the folder"));
    } else if is_below(home, folder) {
        judge.ask(class, format!("deletes {text}, and the working folder is or contains the home folder"));
    } else if !is_known(&target.text) {
        judge.ask(class, format!("cannot tell which folder this deletes: part of {text} is only known at run time"));
    }
}
