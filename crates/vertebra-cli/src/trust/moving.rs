//! Moves scripts of hooks out of the work files, into the folder for hooks, and changes the commands that name them.

use std::{fs, path::Path};

use anyhow::{Context as _, bail};
use vertebra_bridge::{
    settings::HOOKS_FOLDER,
    shown,
    trust::{Kind, Project},
};

use crate::hooks::replace;

/// Moves the scripts that cannot be trusted where they lie. Returns one line about each.
pub(super) fn scripts(project: &Project) -> anyhow::Result<Vec<String>> {
    let mut told = Vec::new();
    let mut moved: Vec<(String, String)> = Vec::new();
    for script in &project.misplaced {
        let old = script.strip_prefix(&project.root).unwrap_or(script).to_string_lossy().into_owned();
        let name = script.file_name().context("a script has a name")?;
        let new = Path::new(HOOKS_FOLDER).join(name);
        if moved.iter().any(|(other, _)| *other == old) {
            continue;
        }
        let to = project.root.join(&new);
        if to.symlink_metadata().is_ok() {
            bail!("{} already exists: move {} yourself", shown(&to.to_string_lossy()), shown(&old));
        }
        moved.push((old, new.to_string_lossy().into_owned()));
    }
    fs::create_dir_all(project.root.join(HOOKS_FOLDER)).context(HOOKS_FOLDER)?;
    for (old, new) in &moved {
        fs::rename(project.root.join(old), project.root.join(new)).with_context(|| old.clone())?;
        told.push(format!("Moved {} to {}", shown(old), shown(new)));
    }
    let kinds = [Kind::Settings, Kind::Claude, Kind::Skill, Kind::Agent];
    for file in project.files.iter().filter(|file| kinds.contains(&file.kind)) {
        let text = moved.iter().fold(file.text.clone(), |text, (old, new)| renamed(&text, old, new));
        if text != file.text {
            replace(&project.root.join(&file.name), &text)?;
            told.push(format!("Changed the commands in {}", shown(&file.name)));
        }
    }
    Ok(told)
}

/// Returns the text with another name for a script, wherever a command names it below the project's folder.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        let is_part = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
        let start = before.strip_suffix("./").unwrap_or(before);
        let of_folder = start.strip_suffix('/').is_some_and(|above| {
            ["_DIR", "_DIR}", "_DIR\"", "_DIR}\"", "_DIR\\\"", "_DIR}\\\""].iter().any(|end| above.ends_with(end))
        });
        let is_whole = (of_folder || !start.ends_with(is_part)) && !after.starts_with(is_part);
        out.push_str(before);
        out.push_str(if is_whole { new } else { old });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn a_script_is_renamed_only_where_a_command_names_it() {
        for (text, new) in [
            ("./check.sh", "./.vertebra/hooks/check.sh"),
            ("sh check.sh", "sh .vertebra/hooks/check.sh"),
            ("\\\"$CLAUDE_PROJECT_DIR\\\"/check.sh", "\\\"$CLAUDE_PROJECT_DIR\\\"/.vertebra/hooks/check.sh"),
            ("${CLAUDE_PROJECT_DIR}/check.sh", "${CLAUDE_PROJECT_DIR}/.vertebra/hooks/check.sh"),
            ("other/check.sh", "other/check.sh"),
            ("precheck.sh", "precheck.sh"),
            ("check.sh.bak", "check.sh.bak"),
        ] {
            assert_eq!(renamed(text, "check.sh", ".vertebra/hooks/check.sh"), new, "{text}");
        }
    }
}
