//! Converts the command of a Claude Code handler so that it starts the same program here.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::Array;

/// The variable for the project's folder, where commands start.
const PROJECT: &str = "${CLAUDE_PROJECT_DIR}";

/// The variable for a plugin's folder.
const ROOT: &str = "CLAUDE_PLUGIN_ROOT";

/// Variables of a plugin that have a value only in Claude Code.
const ONLY_THERE: &[&str] = &["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_OPTION_"];

/// The plugin whose hooks are imported.
pub(super) struct Plugin {
    root: PathBuf,
}

impl Plugin {
    /// Returns the plugin that a `hooks/hooks.json` belongs to.
    pub(super) fn of(file: &Path) -> Option<Self> {
        let file = file.canonicalize().ok()?;
        let root = file.ends_with("hooks/hooks.json").then(|| file.parent()?.parent()).flatten()?;
        Some(Self { root: root.to_owned() })
    }

    /// Returns its folder, if the path needs no quoting in a shell.
    fn plain_root(&self) -> Result<&str, String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@".contains(letter);
        let root = self.root.to_str().filter(|root| root.chars().all(plain));
        root.ok_or_else(|| {
            let root = self.root.display();
            format!(
                "the path `{root}` of {ROOT} has characters that a shell interprets: move the plugin to another folder"
            )
        })
    }
}

/// Returns the command for `run`, as a shell command line or a list of words, or the reason it cannot be imported.
pub(super) fn of(command: &str, handler: &Value, plugin: Option<&Plugin>) -> Result<toml_edit::Value, String> {
    let args = match &handler["args"] {
        Value::Null => None,
        Value::Array(args) => {
            let args: Option<Vec<&str>> = args.iter().map(Value::as_str).collect();
            Some(args.ok_or("`args` must be a list of strings")?)
        }
        _ => return Err("`args` must be a list of strings".to_owned()),
    };
    for text in std::iter::once(command).chain(args.iter().flatten().copied()) {
        if let Some(name) = ONLY_THERE.iter().find(|name| text.contains(**name)) {
            return Err(format!("`{name}` has a value only in Claude Code: replace it by hand"));
        }
        if plugin.is_none() && text.contains(ROOT) {
            return Err(format!("`{ROOT}` has a value only in a plugin: import the plugin's hooks/hooks.json"));
        }
    }
    match (args, handler["shell"].as_str()) {
        (Some(args), _) => list(command, &args, plugin),
        (None, None) => Ok(line(command, plugin)?.into()),
        (None, Some("bash")) => Ok(Array::from_iter(["bash", "-c", &line(command, plugin)?]).into()),
        (None, Some("powershell")) => {
            let line = powershell(command, plugin)?;
            Ok(Array::from_iter(["pwsh", "-NoProfile", "-NonInteractive", "-Command", &line]).into())
        }
        (None, Some(other)) => Err(format!("`shell` must be `bash` or `powershell`, not `{other}`")),
    }
}

/// Converts a shell command line. The project's folder is in a variable; the plugin's variable is exported first.
fn line(command: &str, plugin: Option<&Plugin>) -> Result<String, String> {
    let command = readable(command);
    let Some(plugin) = plugin else { return Ok(command) };
    let root = plugin.plain_root()?;
    Ok(format!("export {ROOT}={root}; {}", with_root(&command, root)))
}

/// Makes the shell expand the project's folder between single quotes too, where Claude Code replaces it before the shell
/// sees the line. A line with comments or here-documents may have quotes that quote nothing, and is not changed.
fn readable(line: &str) -> String {
    if line.contains(['#', '\\']) || line.contains("<<") {
        return line.to_owned();
    }
    let mut quote = None;
    let mut made = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        if quote == Some('\'')
            && let Some(after) = rest.strip_prefix(PROJECT)
        {
            made.extend(["'\"", PROJECT, "\"'"]);
            rest = after;
            continue;
        }
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        made.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    made
}

/// Converts a PowerShell command line, which has its own syntax for variables.
fn powershell(command: &str, plugin: Option<&Plugin>) -> Result<String, String> {
    let command = command.replace(PROJECT, "${env:CLAUDE_PROJECT_DIR}");
    let Some(plugin) = plugin else { return Ok(command) };
    let root = plugin.plain_root()?;
    Ok(format!("$env:{ROOT} = '{root}'; {}", command.replace(&format!("${{{ROOT}}}"), root)))
}

/// Converts a program and its arguments. No shell expands variables in them.
fn list(command: &str, args: &[&str], plugin: Option<&Plugin>) -> Result<toml_edit::Value, String> {
    let root = plugin
        .map(|plugin| plugin.root.to_str().ok_or("the path of the plugin's folder is not valid UTF-8"))
        .transpose()?;
    let words = std::iter::once(command).chain(args.iter().copied()).map(|word| {
        let word = root.map_or_else(|| word.to_owned(), |root| word.replace(&format!("${{{ROOT}}}"), root));
        in_project(&word)
    });
    let words: Vec<String> = words.collect::<Result<_, String>>()?;
    // The program may read the variable itself.
    let given = root.map(|root| ["env".to_owned(), format!("{ROOT}={root}")]);
    Ok(given.into_iter().flatten().chain(words).collect::<Array>().into())
}

/// Replaces the project's folder with `.`, the folder where commands start.
fn in_project(word: &str) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once(PROJECT) {
        made.push_str(before);
        let begins = made.is_empty() || made.ends_with(['=', ':', ',', ' ', '"', '\'']);
        let ends = after.is_empty() || after.starts_with(['/', ':', ',', ' ', '"', '\'']);
        if !begins || !ends {
            return Err(format!("`{word}`: {PROJECT} is not expanded in a list: write the path by hand"));
        }
        made.push('.');
        rest = after;
    }
    Ok(made + rest)
}

/// Replaces the variable of the plugin's folder in both of its forms.
fn with_root(line: &str, root: &str) -> String {
    let line = line.replace(&format!("${{{ROOT}}}"), root);
    let mut made = String::new();
    let mut rest = &*line;
    let bare = format!("${ROOT}");
    while let Some((before, after)) = rest.split_once(&bare) {
        made.push_str(before);
        let goes_on = after.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        made.push_str(if goes_on { &bare } else { root });
        rest = after;
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_folder_is_expanded_everywhere_in_a_line() {
        for (line, read) in [
            ("${CLAUDE_PROJECT_DIR}/a.sh", "${CLAUDE_PROJECT_DIR}/a.sh"),
            ("\"${CLAUDE_PROJECT_DIR}\"/a.sh", "\"${CLAUDE_PROJECT_DIR}\"/a.sh"),
            ("'${CLAUDE_PROJECT_DIR}/a b.sh'", "''\"${CLAUDE_PROJECT_DIR}\"'/a b.sh'"),
            ("echo \"don't\" '${CLAUDE_PROJECT_DIR}'", "echo \"don't\" ''\"${CLAUDE_PROJECT_DIR}\"''"),
            ("x # don't\n${CLAUDE_PROJECT_DIR}/a", "x # don't\n${CLAUDE_PROJECT_DIR}/a"),
        ] {
            assert_eq!(readable(line), read);
        }
    }

    #[test]
    fn a_list_refers_to_the_projects_folder_as_its_working_folder() {
        for (word, placed) in [
            ("${CLAUDE_PROJECT_DIR}/hooks/a.sh", Some("./hooks/a.sh")),
            ("${CLAUDE_PROJECT_DIR}", Some(".")),
            ("--config=${CLAUDE_PROJECT_DIR}/a.json", Some("--config=./a.json")),
            ("plain", Some("plain")),
            ("../${CLAUDE_PROJECT_DIR}-old", None),
        ] {
            assert_eq!(in_project(word).ok().as_deref(), placed, "{word}");
        }
    }

    #[test]
    fn both_forms_of_the_plugin_variable_are_replaced() {
        let line = "\"${CLAUDE_PLUGIN_ROOT}\"/a.sh $CLAUDE_PLUGIN_ROOT/b $CLAUDE_PLUGIN_ROOTS";
        assert_eq!(with_root(line, "/p"), "\"/p\"/a.sh /p/b $CLAUDE_PLUGIN_ROOTS");
    }
}
