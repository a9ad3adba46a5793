//! `find` and `fd`: commands for what they find.

use super::{
    super::{
        Class,
        fields::{Field, texts},
        invoke::Call,
        judge::Judge,
        options,
        places::{Place, Verb},
        value::{UNKNOWN, blend, shown},
    },
    delete::delete,
};

pub(super) fn find(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = call.args();
    let begins = |arg: &Field| arg.text.starts_with('-') || matches!(arg.text.as_str(), "(" | "!" | "\\(");
    let paths: Vec<Field> = args
        .iter()
        .skip_while(|arg| matches!(arg.text.as_str(), "-L" | "-H" | "-P"))
        .take_while(|arg| !begins(arg))
        .cloned()
        .collect();
    let paths = if paths.is_empty() { vec![Field::plain(".")] } else { paths };
    // A filter by name or kind makes it a choice, not all of a folder.
    let filters = ["-name", "-iname", "-path", "-ipath", "-regex", "-empty", "-mtime", "-mmin", "-newer", "-size"];
    let chosen: Vec<&str> = args
        .iter()
        .zip(args.iter().skip(1))
        .filter(|(arg, value)| filters.contains(&arg.text.as_str()) && !matches!(value.text.as_str(), "*" | "./*"))
        .map(|(_, value)| value.text.as_str())
        .collect();
    let filtered = !chosen.is_empty() || args.iter().any(|arg| arg.text == "-empty");
    // A search for a plain name finds files with that name.
    let found = named(args).unwrap_or("found");
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        match arg.text.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let length = args[at..]
                    .iter()
                    .position(|arg| matches!(arg.text.as_str(), ";" | "+" | "\\;"))
                    .unwrap_or(args.len() - at);
                let command = &args[at..at + length];
                at += length;
                for path in &paths {
                    on_found(judge, command, path, filtered.then_some(found));
                }
            }
            "-delete" => {
                for path in &paths {
                    let inside = matches!(judge.place(&path.text), Place::Inside | Place::Scratch);
                    match (inside, filtered) {
                        (true, true) if found.starts_with(".git") => {
                            delete(judge, &Field::plain(format!("{}/.git", path.text.trim_end_matches('/'))), true);
                        }
                        (true, true) => {}
                        (true, false) => {
                            judge
                                .ask(Class::RecursiveDelete, format!("deletes everything below {}", shown(&path.text)));
                        }
                        (false, _) => delete(judge, path, true),
                    }
                }
            }
            "-fprint" | "-fprintf" | "-fls" | "-fprint0" => {
                if let Some(file) = args.get(at) {
                    judge.write(file, Verb::Create);
                }
            }
            _ => {}
        }
    }
    let outside = paths.iter().any(|path| !matches!(judge.place(&path.text), Place::Inside | Place::Scratch));
    let words = texts(args);
    if outside { blend(words) } else { format!("./{UNKNOWN}\n") }
}

/// The last part of the name or path that `find` looks for, unless it looks for all others.
fn named(args: &[Field]) -> Option<&str> {
    if args.iter().any(|arg| arg.text == "-prune") && args.iter().any(|arg| matches!(arg.text.as_str(), "-o" | "-or")) {
        return None;
    }
    let at = args.iter().enumerate().position(|(at, arg)| {
        let negated = at.checked_sub(1).is_some_and(|before| matches!(args[before].text.as_str(), "!" | "-not"));
        matches!(arg.text.as_str(), "-name" | "-iname" | "-path" | "-ipath" | "-wholename") && !negated
    })?;
    let value = args.get(at + 1)?.text.trim_end_matches(['*', '/']);
    let last = value.rsplit('/').next().filter(|last| !last.is_empty())?;
    // A pattern that matches `.git` counts as `.git`.
    if super::super::expansion::glob(last, ".git") {
        Some(".git")
    } else {
        Some(last).filter(|last| !last.contains(['*', '?', '[']))
    }
}

/// A command on something below a path; on all of it, unless something is chosen.
fn on_found(judge: &mut Judge<'_>, command: &[Field], path: &Field, found: Option<&str>) {
    let item = match found {
        Some(found) => format!("{}/{found}", path.text.trim_end_matches('/')),
        None => path.text.clone(),
    };
    let place = |field: &Field| Field { text: field.text.replace("{}", &item), glob: field.glob };
    let argv: Vec<Field> = command.iter().map(place).collect();
    if !argv.is_empty() {
        judge.invoke(argv, &None);
    }
}

pub(super) fn fd(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let args = call.args();
    let runs = |arg: &Field| matches!(arg.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let Some(at) = args.iter().position(runs) else {
        return format!("./{UNKNOWN}\n");
    };
    let before = options::split(&args[..at], |name| matches!(name, "-e" | "-t" | "-E" | "-d" | "-g"), false);
    let path = before.operands.get(1).cloned().unwrap_or_else(|| Field::plain("."));
    let mut command: Vec<Field> = args[at + 1..].to_vec();
    if !command.iter().any(|word| word.text.contains('{')) {
        command.push(Field::plain("{}"));
    }
    on_found(judge, &command, &path, Some("found"));
    UNKNOWN.to_string()
}
