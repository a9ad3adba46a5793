//! Judges one command: finds the program, and applies the tables and rules to it.

use std::rc::Rc;

use super::{
    Class, Decision,
    expansion::glob,
    fields::{Field, texts},
    judge::{Input, Judge, Origin},
    lex::raw_words,
    options::{self, Parsed},
    places::{Place, Verb},
    produce, rules,
    scope::Made,
    table::{self, Effect, Program, Treat},
    value::{REMOTE, SECRET, UNKNOWN, blend, is_known, known_part, shown},
};

/// One command, as rules see it.
pub(super) struct Call<'c> {
    pub(super) name: &'c str,
    /// The words, the first of which is the command.
    pub(super) argv: &'c [Field],
    pub(super) input: &'c Input,
}

impl Call<'_> {
    pub(super) fn args(&self) -> &[Field] {
        self.argv.get(1..).unwrap_or_default()
    }
}

/// The steps that it takes to find a program in the tables.
const LOOKUP: usize = 128;

/// The folders of installed programs.
const INSTALLED: [&str; 9] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
    "/usr/games",
];

impl Judge<'_> {
    /// Judges a command, and returns its output as far as it is known.
    pub(super) fn invoke(&mut self, argv: Vec<Field>, input: &Input) -> String {
        let words: usize = argv.iter().map(|field| field.text.len() + 1).sum();
        if !self.enter(words + input.as_ref().map_or(0, String::len)) {
            return UNKNOWN.to_string();
        }
        self.line("command", &texts(&argv).join(" "));
        let printed = self.command(argv, input);
        self.leave();
        printed
    }

    fn command(&mut self, argv: Vec<Field>, input: &Input) -> String {
        let Some(first) = argv.first().cloned() else { return String::new() };
        let word = first.text;
        self.name(&word);
        if first.glob && word != "[" && word != "[[" {
            return self.pattern(&word, &argv, input);
        }
        if !is_known(&word) {
            return self.unknown_word(&word, argv, input);
        }
        if word.is_empty() {
            self.unknown("the command name is empty");
            return UNKNOWN.to_string();
        }
        if let Some(body) = self.scope.functions.get(&word).cloned() {
            return self.call(&word, &body, &argv, input);
        }
        if word.contains('/') {
            return self.at_path(&word, &argv, input);
        }
        let searched = self.scope.search.iter().find_map(|folder| self.scope.made.get(&format!("{folder}/{word}")));
        if let Some(made) = searched.cloned() {
            return self.run_made(&made, &argv, input);
        }
        self.program(&word, &argv, input)
    }

    /// Judges every program that a pattern matches.
    fn pattern(&mut self, word: &str, argv: &[Field], input: &Input) -> String {
        self.unknown(format!("the command name `{}` is a glob pattern and may match any program", shown(word)));
        let base = word.rsplit('/').next().unwrap_or(word);
        let mut found: Vec<&str> =
            table::names().chain(rules::NAMES.iter().copied()).filter(|name| glob(base, name)).collect();
        found.sort_unstable();
        for name in found.into_iter().take(16) {
            let mut argv = argv.to_vec();
            argv[0] = Field::plain(name);
            self.program(name, &argv, input);
        }
        UNKNOWN.to_string()
    }

    /// Judges a command name with an unknown part. The unknown part may be empty, like an unset variable.
    fn unknown_word(&mut self, word: &str, argv: Vec<Field>, input: &Input) -> String {
        if word.contains(REMOTE) {
            self.runs_download();
        } else {
            self.unknown("the command name is only known at run time");
        }
        let known = known_part(word);
        let mut rest = argv;
        if known.is_empty() {
            rest.remove(0);
        } else {
            rest[0] = Field::plain(known);
        }
        if !rest.is_empty() {
            let found = self.trial(|judge| drop(judge.invoke(rest, input)));
            if let Some((Decision::Deny, class, reason)) = found {
                self.deny(class, reason);
            }
        }
        UNKNOWN.to_string()
    }

    fn call(&mut self, name: &str, body: &Rc<str>, argv: &[Field], input: &Input) -> String {
        self.uncalled.remove(name);
        if self.calling.iter().any(|calling| calling == name) {
            if self.beside {
                self.deny(Class::ForkBomb, format!("`{}` keeps starting copies of itself (a fork bomb)", shown(name)));
            }
            return UNKNOWN.to_string();
        }
        self.calling.push(name.to_owned());
        let given: Vec<String> = texts(&argv[1..]).into_iter().map(str::to_owned).collect();
        let outer = std::mem::replace(&mut self.scope.args, given.into());
        let printed = self.script(body, &Origin::Within(self.at.clone()), input);
        self.scope.args = outer;
        self.calling.pop();
        printed
    }

    /// Judges a command that is given by its path.
    fn at_path(&mut self, word: &str, argv: &[Field], input: &Input) -> String {
        let Some(path) = self.resolved(word) else {
            self.unknown("the path of the program is only known at run time");
            return UNKNOWN.to_string();
        };
        if let Some(made) = self.scope.made(&path).cloned() {
            return self.run_made(&made, argv, input);
        }
        let (folder, base) = path.rsplit_once('/').unwrap_or(("", &path));
        let installed =
            INSTALLED.contains(&folder) || folder.starts_with("/usr/lib") || folder.ends_with("/.cargo/bin");
        // Wherever it lies, it is the program that keeps the answers of people.
        let is_own = base == "vertebra";
        if installed || is_own || folder.ends_with("/bin") && self.place(word) != Place::Inside {
            return self.program(base, argv, input);
        }
        if base.starts_with("ld-linux") || base.starts_with("ld.so") || base.starts_with("ld-musl") {
            return self.invoke(argv[1..].to_vec(), input);
        }
        match self.place(word) {
            // A wrapper in a project is the tool that it is named after.
            Place::Inside if matches!(base, "gradlew" | "mvnw") => return self.program(base, argv, input),
            Place::Inside => {}
            _ => self.unknown(format!("runs {}, a program outside the working folder", shown(word))),
        }
        blend(texts(argv).into_iter().chain(input.as_deref()))
    }

    /// Judges a file that the command created itself.
    pub(super) fn run_made(&mut self, made: &Made, argv: &[Field], input: &Input) -> String {
        match made {
            Made::Program(name) => self.program(&name.clone(), argv, input),
            Made::Text(text) => {
                let given: Vec<String> =
                    texts(argv.get(1..).unwrap_or_default()).into_iter().map(str::to_owned).collect();
                self.run_text(text, &given);
                UNKNOWN.to_string()
            }
        }
    }

    /// Judges a text as a script.
    pub(super) fn run_text(&mut self, text: &str, args: &[String]) {
        if text.contains(REMOTE) {
            self.runs_download();
            return;
        }
        if !is_known(text) {
            self.unknown("runs a script whose text is only known at run time");
        }
        let interpreter = text.lines().next().and_then(|line| line.strip_prefix("#!")).unwrap_or("sh");
        let is_shell = ["sh", "bash", "dash", "zsh", "ksh"]
            .iter()
            .any(|shell| interpreter.split_whitespace().any(|word| word.rsplit('/').next() == Some(shell)));
        if is_shell {
            let known = known_part(text);
            let outer = std::mem::replace(&mut self.scope.args, args.to_vec().into());
            self.subshell(|judge| judge.script(&known, &Origin::Within(judge.at.clone()), &None));
            self.scope.args = outer;
        } else {
            self.code(text);
        }
    }

    /// Judges a program by its name, with a rule or a line of a table.
    pub(super) fn program(&mut self, name: &str, argv: &[Field], input: &Input) -> String {
        if let [_, only] = argv
            && matches!(only.text.as_str(), "--help" | "--version")
        {
            return UNKNOWN.to_string();
        }
        let call = Call { name, argv, input };
        if rules::SHELL.contains(&name) {
            self.known_or_foreign(&call)
        } else {
            self.outside_of_the_shell(|judge| judge.known_or_foreign(&call))
        }
    }

    fn known_or_foreign(&mut self, call: &Call<'_>) -> String {
        self.charge(LOOKUP);
        if let Some(rule) = rules::rule(call.name) {
            return rule(self, call);
        }
        match table::program(call.name) {
            Some(program) => self.by_table(call.name, &program, call),
            None => self.foreign(call),
        }
    }

    /// Hides the functions of the shell from programs, except exported ones.
    fn outside_of_the_shell<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let own = std::mem::take(&mut self.scope.functions);
        self.charge(8 * self.scope.exported.size());
        for name in &self.scope.exported {
            if let Some(body) = own.get(name) {
                self.scope.functions.insert_mut(name.clone(), body.clone());
            }
        }
        let value = body(self);
        let inside = std::mem::replace(&mut self.scope.functions, own);
        self.charge(inside.size());
        for (name, body) in &inside {
            if self.scope.exported.contains(name) || !self.scope.functions.contains_key(name) {
                self.scope.functions.insert_mut(name.clone(), body.clone());
            }
        }
        value
    }

    /// Judges a program that is in no table. It may run its arguments, so they are judged too.
    fn foreign(&mut self, call: &Call<'_>) -> String {
        self.unknown(format!(
            "the policy does not know the program `{}`, so a person must approve it",
            shown(call.name)
        ));
        if let Some((class, reason)) = self.harm_in_arguments(call) {
            self.deny(class, reason);
        }
        blend(texts(call.argv).into_iter().chain(call.input.as_deref()))
    }

    /// Returns what would be denied if the arguments of a program were a command.
    pub(super) fn harm_in_arguments(&mut self, call: &Call<'_>) -> Option<(Class, String)> {
        for at in 1..call.argv.len().min(6) {
            if !self.charge(LOOKUP) {
                return None;
            }
            let tail = &call.argv[at..];
            let word = tail[0].text.rsplit('/').next().unwrap_or_default();
            let judged = if tail[0].text.contains(' ') {
                self.trial(|judge| drop(judge.script(&tail[0].text, &Origin::Within(judge.at.clone()), &None)))
            } else if rules::rule(word).is_some() || table::program(word).is_some() {
                self.trial(|judge| drop(judge.invoke(tail.to_vec(), call.input)))
            } else {
                None
            };
            if let Some((Decision::Deny, class, reason)) = judged {
                return Some((class, reason));
            }
        }
        None
    }

    pub(super) fn by_table(&mut self, name: &str, program: &Program, call: &Call<'_>) -> String {
        let until_operand = matches!(program.effect, Effect::Wrap(_) | Effect::Sub);
        let parsed = options::by_table(call.args(), program, until_operand);
        let mut read = self.options(name, program, &parsed);
        self.carried(call);
        match program.effect {
            Effect::Plain => {}
            Effect::Build => self.building(name, call),
            // These show names and sizes, not contents.
            Effect::Read if matches!(name, "ls" | "stat" | "du" | "df" | "file" | "tree" | "exa" | "eza") => {}
            Effect::Read => {
                for operand in &parsed.operands {
                    read.push_str(&self.look(&operand.text));
                }
            }
            Effect::Write => parsed.operands.iter().for_each(|operand| self.write(operand, Verb::Create)),
            Effect::Delete => parsed.operands.iter().for_each(|operand| self.write(operand, Verb::Destroy)),
            Effect::Last => {
                if let Some((last, others)) = parsed.operands.split_last() {
                    let written = if others.is_empty() { None } else { Some(last) };
                    for operand in others.iter().chain(if written.is_none() { Some(last) } else { None }) {
                        read.push_str(&self.look(&operand.text));
                    }
                    if let Some(last) = written {
                        self.write(last, Verb::Create);
                    }
                }
            }
            Effect::Wrap(skipped) => {
                let Some(first) = parsed.first else { return UNKNOWN.to_string() };
                let inner = call.args().get(first + skipped..).unwrap_or_default().to_vec();
                return if inner.is_empty() { UNKNOWN.to_string() } else { self.invoke(inner, call.input) };
            }
            Effect::Sub => return self.subcommand(name, &parsed, call),
            Effect::Ask(class) => self.ask(class, format!("`{name}` {}, so a person must approve it", risk(class))),
            Effect::Deny(class) => self.deny(class, format!("`{name}` {}, which agents may not do", risk(class))),
        }
        produce::output(self, call, &parsed, &read)
    }

    fn subcommand(&mut self, name: &str, parsed: &Parsed, call: &Call<'_>) -> String {
        let first = parsed.first.unwrap_or(0);
        let leading = call.args().first().map(|arg| arg.text.as_str()).unwrap_or_default();
        let named = call.args().get(first).map(|arg| arg.text.as_str()).unwrap_or_default();
        if call.args().is_empty() {
            return UNKNOWN.to_string();
        }
        let found = [(leading, 0), (named, first), ("*", first)]
            .into_iter()
            .find_map(|(sub, at)| Some((table::program(&format!("{name} {sub}"))?, at)));
        let Some((program, at)) = found else {
            self.unknown(format!("the policy does not know `{name} {}`, so a person must approve it", shown(named)));
            return UNKNOWN.to_string();
        };
        let whole = format!("{name} {named}");
        let inner = Call { name: &whole, argv: call.args().get(at..).unwrap_or_default(), input: call.input };
        self.by_table(&whole, &program, &inner)
    }

    /// Judges options by the table, and returns what they read.
    pub(super) fn options(&mut self, name: &str, program: &Program, parsed: &Parsed) -> String {
        let mut read = String::new();
        for operand in parsed.operands.iter().filter(|operand| !operand.text.starts_with('-')) {
            if let Some((word, Treat::Ask)) = options::exact(program, &operand.text) {
                self.unknown(format!(
                    "`{name} {word}` may change, delete, publish or expose data, so a person must approve it"
                ));
            }
        }
        for (option, value) in &parsed.options {
            let Some((option, treat)) = options::find(program, option) else { continue };
            match (treat, value) {
                (Treat::Write, Some(value)) => self.write(value, Verb::Create),
                (Treat::Read, Some(value)) => read.push_str(&self.look(&value.text)),
                (Treat::Run, Some(value)) => {
                    let text = value.text.clone();
                    self.run_argument(&text);
                }
                (Treat::Program, Some(value)) => self.run_program(&value.text.clone()),
                (Treat::Code, Some(value)) => self.run_code(&value.text.clone()),
                (Treat::Folder, Some(value)) => {
                    self.built_from([value.text.as_str()]);
                    if !matches!(self.place(&value.text), Place::Inside | Place::Scratch) {
                        self.unknown(format!("`{name} {option}` works outside the working folder"));
                    }
                }
                (Treat::Ask, _) => self.unknown(format!(
                    "`{name} {option}` can run other code or act outside the project, so a person must approve it"
                )),
                (Treat::Deny(class), _) => {
                    self.deny(class, format!("`{name} {option}` {}, which agents may not do", risk(class)));
                }
                (Treat::Value, _) | (_, None) => {}
            }
        }
        read
    }

    /// Judges an argument that is a command for a shell.
    pub(super) fn run_argument(&mut self, text: &str) {
        if text.contains(REMOTE) {
            self.runs_download();
        } else if !is_known(text) {
            self.unknown("runs a command that is only known at run time");
        }
        self.subshell(|judge| judge.script(&known_part(text), &Origin::Within(judge.at.clone()), &None));
    }

    /// Judges an argument that is a program, which will receive unknown arguments.
    pub(super) fn run_program(&mut self, text: &str) {
        self.run_argument(text);
        let text = known_part(text);
        if text.trim().is_empty() || text.contains([';', '&', '|', '<', '>', '(', '\n']) {
            return;
        }
        let within = Origin::Within(self.at.clone());
        if text.split_whitespace().next().is_some_and(|word| word.contains('/')) {
            self.unknown(format!("`{text}` would run in place of an installed program"));
        }
        let mut argv: Vec<Field> = raw_words(&text).iter().flat_map(|(_, raw)| self.fields(raw, &within)).collect();
        argv.push(Field::plain(UNKNOWN));
        self.subshell(|judge| judge.invoke(argv, &Some(UNKNOWN.to_string())));
    }

    /// Judges a command that reads a file to show it.
    pub(super) fn look(&mut self, text: &str) -> String {
        let content = self.read(text);
        if self.is_private(text) && content.contains(SECRET) {
            self.ask(Class::SecretRead, format!("reads {}, a secret file outside the working folder", shown(text)));
        }
        content
    }
}

/// Says what a program of this class can do, as the rest of a sentence that names the program.
fn risk(class: Class) -> &'static str {
    match class {
        Class::RecursiveDelete => "can delete data",
        Class::PrivilegeEscalation => "can change the system or gain more rights",
        Class::NetworkExfiltration => "can send data to another machine",
        Class::RemoteCode => "can download code and run it",
        Class::SystemDestruction => "can damage the system",
        Class::ForkBomb => "can start processes without end",
        Class::WriteOutside => "can change files or jobs outside the working folder",
        Class::SecretRead => "can read secrets",
        Class::OwnPolicy => "can answer for a person or change the policy",
        Class::Unknown => "can do things that the policy cannot check",
    }
}
