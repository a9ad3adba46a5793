//! Tools that run the code of a project: where the code comes from, and in which folder they work.

use super::{
    Class,
    fields::texts,
    invoke::Call,
    judge::Judge,
    places::Place,
    rules,
    scope::Made,
    value::{REMOTE, SECRET, shown},
};

/// First words that are followed by what is installed or run.
const INSTALLS: [&str; 12] =
    ["install", "i", "add", "get", "require", "run", "exec", "x", "create", "new", "init", "build"];
/// Tools that install or run what they are given without such a word.
const INSTALLERS: [&str; 8] = ["cookiecutter", "copier", "cpan", "cpanm", "degit", "tiged", "nix-build", "yo"];
/// Parts of the names of settings that say which programs and files a build runs.
const TOOLS: [&str; 6] = ["COMPILER", "LAUNCHER", "LINKER", "TOOLCHAIN", "MODULE_PATH", "_INCLUDE"];
/// How addresses begin that are not of the form `scheme://`.
const ADDRESSES: [&str; 8] = ["git+", "git:", "git@", "github:", "gitlab:", "gh:", "gl:", "bb:"];

/// Returns whether a word is an address instead of the name of a published package.
pub(super) fn is_address(word: &str) -> bool {
    word.contains("://") && !word.starts_with("file://") || ADDRESSES.iter().any(|begin| word.starts_with(begin))
}

/// Returns the parts of a word that may be a path: the whole word, or the value of an option.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once(['=', '@']).map(|(_, value)| value);
    let attached = word.strip_prefix('-').and_then(|rest| rest.get(1..)).filter(|rest| rest.contains(['/', '~', '.']));
    [Some(word), value, attached].into_iter().flatten().filter(|path| !path.is_empty())
}

impl Judge<'_> {
    /// Judges a tool that runs the project's code. Asks if the code was just downloaded, if an argument would be harmful as a
    /// command, or if the tool works on a folder outside the project.
    pub(super) fn building(&mut self, name: &str, call: &Call<'_>) {
        if let Some((class, reason)) = self.harm_in_arguments(call) {
            self.ask(class, format!("`{name}` may run one of its arguments: {reason}"));
        }
        let words = texts(call.args());
        let operands: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        match operands.get(..2).unwrap_or(&operands) {
            ["eval" | "e", ..] | [_, "eval"] => self.unknown(format!("`{name}` runs code from its arguments")),
            ["run", file] if file.starts_with(['/', '~', '.']) => rules::run_file(self, file, &[]),
            _ => {}
        }
        let installs = INSTALLERS.contains(&name)
            || [name.rsplit(' ').next(), operands.first().copied()]
                .iter()
                .flatten()
                .any(|word| INSTALLS.contains(word));
        if installs && operands.iter().any(|word| is_address(word) && !self.is_own_host(word)) {
            self.ask(Class::RemoteCode, format!("`{name}` installs or runs code from a URL"));
        }
        let elsewhere = operands.iter().find(|word| {
            word.starts_with(['/', '~'])
                && !word.starts_with("//")
                && matches!(self.place(word), Place::Outside | Place::Persistent)
        });
        if let Some(path) = elsewhere {
            self.ask(Class::WriteOutside, format!("`{name}` works on {}, outside the working folder", shown(path)));
        }
        let tool = words.iter().filter(|word| word.starts_with("-D")).filter_map(|word| word.split_once('=')).find(
            |(name, path)| {
                TOOLS.iter().any(|part| name.contains(part))
                    && matches!(self.place(path), Place::Scratch | Place::Outside | Place::Persistent)
            },
        );
        if let Some((_, path)) = tool {
            self.unknown(format!("`{name}` would run {}, outside the working folder", shown(path)));
        }
        self.built_from(words.into_iter().chain(call.input.as_deref()).chain(["."]));
    }

    /// Asks if the code to build was just downloaded.
    pub(super) fn built_from<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        if words.into_iter().any(|word| paths_in(word).any(|path| self.is_fetched(path))) {
            self.ask(Class::RemoteCode, "builds code downloaded from the network");
        }
    }

    /// Returns whether a word names a file or folder that was just downloaded, or is downloaded data itself.
    fn is_fetched(&self, word: &str) -> bool {
        let made = self.resolved(word).and_then(|path| self.scope.made(&path));
        word.contains(REMOTE) || matches!(made, Some(Made::Text(text)) if text.contains(REMOTE))
    }

    /// Records that the content of a path was downloaded.
    pub(super) fn made_elsewhere(&mut self, path: &str) {
        if let Some(path) = self.resolved(path) {
            self.scope.make(path, Made::Text(REMOTE.to_string()));
        }
    }

    /// Runs a file in the language of the program that it is given to.
    pub(super) fn run_code(&mut self, path: &str) {
        rules::run_file(self, path, &[]);
        if let Some(Made::Text(text)) = self.resolved(path).and_then(|path| self.scope.made(&path).cloned()) {
            self.code(&text);
        }
    }

    /// Assumes that a program with a remote address and a secret sends the secret to that address.
    pub(super) fn carried(&mut self, call: &Call<'_>) {
        let words = texts(call.args());
        let Some(address) = words.iter().find(|word| is_address(word) && !self.is_own_host(word)) else { return };
        let names_secret = |path: &str| self.resolved(path).is_some_and(|path| self.is_secret(&path));
        if words.iter().any(|word| word.contains(SECRET) || paths_in(word).any(names_secret)) {
            self.send(address, &SECRET.to_string(), "receives both a secret and a remote address");
        }
    }
}
