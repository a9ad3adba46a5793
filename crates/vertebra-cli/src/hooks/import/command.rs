//! The command of a handler, so that it starts here what it starts there.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::Array;

/// What stands for the project's folder, in which commands start.
const PROJECT: &str = "${CLAUDE_PROJECT_DIR}";

/// The variable that names a plugin's folder.
const ROOT: &str = "CLAUDE_PLUGIN_ROOT";

/// What only Claude Code has for a plugin.
const ONLY_THERE: &[&str] = &["CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_OPTION_"];

/// The plugin whose hooks are read.
pub(super) struct Plugin {
    root: PathBuf,
}

impl Plugin {
    /// The plugin that a file of hooks belongs to, by its place: `hooks/hooks.json`.
    pub(super) fn of(file: &Path) -> Option<Self> {
        let file = file.canonicalize().ok()?;
        let root = file.ends_with("hooks/hooks.json").then(|| file.parent()?.parent()).flatten()?;
        Some(Self { root: root.to_owned() })
    }

    /// Its folder as a word that every shell takes as it is.
    fn plain_root(&self) -> Result<&str, String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@".contains(letter);
        let root = self.root.to_str().filter(|root| root.chars().all(plain));
        root.ok_or_else(|| {
            let root = self.root.display();
            format!(
                "`{root}` stands for {ROOT} and has letters that a shell reads: move the plugin to a plainer folder"
            )
        })
    }
}

/// The command as `run` has it: a line for the shell or a list of words; or why it cannot be carried over.
pub(super) fn of(command: &str, handler: &Value, plugin: Option<&Plugin>) -> Result<toml_edit::Value, String> {
    let args = match &handler["args"] {
        Value::Null => None,
        Value::Array(args) => {
            let args: Option<Vec<&str>> = args.iter().map(Value::as_str).collect();
            Some(args.ok_or("`args` is a list of texts")?)
        }
        _ => return Err("`args` is a list of texts".to_owned()),
    };
    for text in std::iter::once(command).chain(args.iter().flatten().copied()) {
        if let Some(name) = ONLY_THERE.iter().find(|name| text.contains(**name)) {
            return Err(format!("`{name}` has a value only in Claude Code: write one in place of it, by hand"));
        }
        if plugin.is_none() && text.contains(ROOT) {
            return Err(format!("`{ROOT}` has a value only for a plugin: import its hooks/hooks.json"));
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
        (None, Some(other)) => Err(format!("`shell` is `bash` or `powershell`, not `{other}`")),
    }
}

/// A line for a shell. It finds the project's folder in a variable, and the plugin's in one that it is given.
fn line(command: &str, plugin: Option<&Plugin>) -> Result<String, String> {
    let command = readable(command);
    let Some(plugin) = plugin else { return Ok(command) };
    let root = plugin.plain_root()?;
    Ok(format!("export {ROOT}={root}; {}", with_root(&command, root)))
}

/// A line in which the shell reads the project's folder also between single quotation marks: there it is in place before a
/// shell sees the line. What has comments or texts in it may have such marks that quote nothing, and stays as it is.
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

/// The same for a shell that has its own words for variables.
fn powershell(command: &str, plugin: Option<&Plugin>) -> Result<String, String> {
    let command = command.replace(PROJECT, "${env:CLAUDE_PROJECT_DIR}");
    let Some(plugin) = plugin else { return Ok(command) };
    let root = plugin.plain_root()?;
    Ok(format!("$env:{ROOT} = '{root}'; {}", command.replace(&format!("${{{ROOT}}}"), root)))
}

/// A program and its arguments, which no shell reads: nothing would be filled in.
fn list(command: &str, args: &[&str], plugin: Option<&Plugin>) -> Result<toml_edit::Value, String> {
    let root = plugin.map(|plugin| plugin.root.to_str().ok_or("the plugin's folder is no text")).transpose()?;
    let words = std::iter::once(command).chain(args.iter().copied()).map(|word| {
        let word = root.map_or_else(|| word.to_owned(), |root| word.replace(&format!("${{{ROOT}}}"), root));
        in_project(&word)
    });
    let words: Vec<String> = words.collect::<Result<_, String>>()?;
    // The program may look for it itself.
    let given = root.map(|root| ["env".to_owned(), format!("{ROOT}={root}")]);
    Ok(given.into_iter().flatten().chain(words).collect::<Array>().into())
}

/// A word in which the project's folder is the one that commands start in.
fn in_project(word: &str) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once(PROJECT) {
        made.push_str(before);
        let begins = made.is_empty() || made.ends_with(['=', ':', ',', ' ', '"', '\'']);
        let ends = after.is_empty() || after.starts_with(['/', ':', ',', ' ', '"', '\'']);
        if !begins || !ends {
            return Err(format!("`{word}`: no shell fills in {PROJECT} in a list: write the path, by hand"));
        }
        made.push('.');
        rest = after;
    }
    Ok(made + rest)
}

/// A line with the plugin's folder in place of its variable, in both forms of it.
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
    fn the_projects_folder_is_read_wherever_it_stands_in_a_line() {
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
    fn a_list_names_the_projects_folder_as_the_one_it_starts_in() {
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
    fn a_plugins_folder_stands_in_place_of_its_variable_in_both_forms() {
        let line = "\"${CLAUDE_PLUGIN_ROOT}\"/a.sh $CLAUDE_PLUGIN_ROOT/b $CLAUDE_PLUGIN_ROOTS";
        assert_eq!(with_root(line, "/p"), "\"/p\"/a.sh /p/b $CLAUDE_PLUGIN_ROOTS");
    }
}
