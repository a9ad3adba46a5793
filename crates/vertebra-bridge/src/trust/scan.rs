//! Reads the shell scripts of a hook folder for what they load from outside it.
//!
//! A person reviews these scripts before they trust them. This points at the lines that make the review worthless: a script
//! that starts a build tool, or sources a work file, runs whatever an agent writes there.

use std::path::Path;

use super::{
    loads::PROJECT,
    programs::{Interpreter, Known, known},
    scripts::plain,
    shell::{Shell, Word},
};

/// Returns what a script loads from the project outside its folder. A file that is not a shell script is not read.
pub(super) fn reported(folder: &Path, name: &Path, bytes: &[u8], root: &Path) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let shown = folder.strip_prefix(root).unwrap_or(folder).join(name);
    let shown = crate::shown(&shown.to_string_lossy());
    if let Some(why) = of_first_line(first.trim_start_matches("#!").trim(), folder, root) {
        return vec![format!("{shown} {why}")];
    }
    let of_first = first.trim_start_matches("#!").split(['/', ' ', '\t']).any(is_shell);
    let of_name = name.extension().is_some_and(|end| end == "sh" || end == "bash" || end == "zsh");
    if !(of_first || first.is_empty() && of_name) {
        return Vec::new();
    }
    let value = |variable: &str| {
        let of_project = PROJECT.contains(&variable) || variable == "PWD";
        of_project.then(|| root.to_string_lossy().into_owned())
    };
    let mut found = Vec::new();
    for command in Shell::read(text, &value).commands {
        if let Some(why) = loads(&command.words, folder, root) {
            let why = format!("{shown} {why}");
            if !found.contains(&why) {
                found.push(why);
            }
        }
    }
    found
}

/// Returns what the first line of a script starts, if that is outside the folder.
fn of_first_line(line: &str, folder: &Path, root: &Path) -> Option<String> {
    let word = |text: &str| Word { range: 0..0, text: Some(text.to_owned()) };
    let mut words: Vec<Word> = line.split_whitespace().map(word).collect();
    // The script is the operand of its interpreter.
    words.push(Word { range: 0..0, text: None });
    loads(&words, folder, root)
}

fn is_shell(name: &str) -> bool {
    known(name) == Known::Interpreter(Interpreter::Shell)
}

/// Returns what a command of a script loads, if that is outside the folder.
fn loads(words: &[Word], folder: &Path, root: &Path) -> Option<String> {
    let (word, rest) = words.split_first()?;
    let name = word.text.as_deref()?;
    let base = name.rsplit('/').next().unwrap_or(name);
    let is_other = |text: &str| {
        let path = plain(&root.join(text));
        path.starts_with(root) && !path.starts_with(folder)
    };
    let runs = |text: &str| is_other(text).then(|| format!("runs `{}` of the project", crate::shown(text)));
    if name.contains('/')
        && let Some(why) = runs(name)
    {
        return Some(why);
    }
    let operand = rest.iter().find(|word| word.text.as_deref().is_none_or(|text| !text.starts_with('-')));
    let operand = operand.and_then(|word| word.text.as_deref());
    let options = || rest.iter().filter_map(|word| word.text.as_deref()).filter(|text| text.starts_with('-'));
    match (base, known(base)) {
        ("." | "source", _) => {
            operand.filter(|text| is_other(text)).map(|text| format!("sources `{}` of the project", crate::shown(text)))
        }
        (_, Known::Wrapper) => {
            let inner = rest.iter().position(|word| {
                let text = word.text.as_deref().unwrap_or_default();
                let is_number = text.trim_end_matches(['s', 'm', 'h']).parse::<f64>().is_ok();
                !text.starts_with('-') && !text.contains('=') && !is_number
            });
            loads(&rest[inner?..], folder, root)
        }
        (_, Known::Open) => Some(format!("starts `{base}`, which loads what it finds in the project")),
        (_, Known::Interpreter(Interpreter::Python)) => {
            let is_alone = options().any(|option| !option.starts_with("--") && option.contains(['I', 'P']));
            let has_file =
                rest.first().is_some_and(|word| word.text.as_deref().is_none_or(|text| !text.starts_with('-')));
            match operand.filter(|_| has_file) {
                Some(file) => runs(file),
                None if has_file || is_alone => None,
                None if options().any(|option| matches!(option, "--version" | "-V")) => None,
                None => Some(format!("runs `{base}` with modules of the project: write `{base} -I`")),
            }
        }
        (_, Known::Interpreter(Interpreter::Node)) => match rest.first().map(|word| word.text.as_deref()) {
            Some(Some(option))
                if matches!(option, "-e" | "--eval" | "-p" | "--print" | "-r" | "--require" | "--import") =>
            {
                Some(format!(
                    "runs `{base} {option}`, which may load modules of the project: use a file beside the script"
                ))
            }
            _ => operand.and_then(runs),
        },
        (_, Known::Interpreter(Interpreter::Ruby | Interpreter::Perl | Interpreter::Shell)) => {
            operand.filter(|_| rest.first().is_some_and(|word| word.text.as_deref() == operand)).and_then(runs)
        }
        (_, Known::Interpreter(Interpreter::Filter) | Known::Bounded | Known::Unknown) => None,
    }
}
