//! make: rules that the command itself wrote, and settings that run something.

use super::super::{
    invoke::Call,
    judge::Judge,
    options,
    places::Place,
    scope::Made,
    value::{UNKNOWN, is_known, known_part},
};

pub(super) fn make(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| {
            matches!(
                name,
                "-f" | "--file"
                    | "--makefile"
                    | "-C"
                    | "--directory"
                    | "-I"
                    | "-j"
                    | "-l"
                    | "-o"
                    | "-W"
                    | "--eval"
                    | "-E"
            )
        },
        false,
    );
    // Each further folder is relative to the one before.
    let folder = parsed
        .options
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "-C" | "--directory"))
        .filter_map(|(_, value)| value.as_ref())
        .fold(None, |before: Option<String>, next| match before {
            Some(before) if !next.text.starts_with('/') => Some(format!("{before}/{}", next.text)),
            Some(_) | None => Some(next.text.clone()),
        });
    let within = |file: &str| folder.as_ref().map_or_else(|| file.to_owned(), |folder| format!("{folder}/{file}"));
    let file = parsed.value(&["-f", "--file", "--makefile"]).map(|file| file.text.clone());
    let rules = match file.as_deref() {
        Some("-" | "/dev/stdin") => call.input.clone(),
        Some(path) => {
            if judge.place(path) != Place::Inside {
                judge.unknown("runs a makefile outside the working folder");
            }
            made_text(judge, path)
        }
        None => made_text(judge, &within("Makefile")).or_else(|| made_text(judge, &within("makefile"))),
    };
    judge.built_from([folder.as_deref().unwrap_or(".")]);
    if parsed.value(&["-I", "--include-dir"]).is_some_and(|folder| judge.place(&folder.text) != Place::Inside) {
        judge.unknown("may include makefiles from outside the working folder");
    }
    let inline = parsed.value(&["--eval", "-E"]).map(|text| text.text.clone());
    for text in rules.into_iter().chain(inline) {
        makefile(judge, &text);
    }
    for operand in &parsed.operands {
        if let Some((name, value)) = operand.text.split_once('=')
            && matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS")
        {
            judge.run_argument(value);
        }
    }
    if let Some(folder) = folder
        && judge.place(&folder) != Place::Inside
    {
        judge.unknown("runs `make` outside the working folder");
    }
    UNKNOWN.to_string()
}

fn made_text(judge: &mut Judge<'_>, path: &str) -> Option<String> {
    let path = judge.resolved(path)?;
    match judge.scope.made(&path) {
        Some(Made::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Judges a makefile. Recipes follow a tab, or the semicolon of a rule. `$(shell …)` runs when it is read.
fn makefile(judge: &mut Judge<'_>, text: &str) {
    if !is_known(text) {
        judge.unknown("runs a makefile whose text is only known at run time");
    }
    for line in known_part(text).lines() {
        let recipe = match line.strip_prefix('\t') {
            Some(recipe) => Some(recipe),
            None => line.split_once(';').map(|(_, recipe)| recipe),
        };
        if let Some(recipe) = recipe {
            let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$").replace("$(", "${");
            judge.run_argument(&recipe);
        }
        if let Some((_, command)) = line.split_once("$(shell ") {
            let command = command.rsplit_once(')').map_or(command, |(command, _)| command).to_owned();
            judge.run_argument(&command);
        }
    }
}
