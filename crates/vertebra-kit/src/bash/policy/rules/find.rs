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
    let filtered = args.iter().any(|arg| filters.contains(&arg.text.as_str()));
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
                    on_found(judge, command, path, filtered);
                }
            }
            "-delete" => {
                for path in &paths {
                    let inside = matches!(judge.place(&path.text), Place::Inside | Place::Scratch);
                    match (inside, filtered) {
                        (true, true) => {}
                        (true, false) => {
                            judge.ask(Class::RecursiveDelete, format!("deletes all below {}", shown(&path.text)));
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

/// A command on something below a path.
fn on_found(judge: &mut Judge<'_>, command: &[Field], path: &Field, filtered: bool) {
    let item = if filtered { format!("{}/found", path.text.trim_end_matches('/')) } else { path.text.clone() };
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
    on_found(judge, &command, &path, true);
    UNKNOWN.to_string()
}
