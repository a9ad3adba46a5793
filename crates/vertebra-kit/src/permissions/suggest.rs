//! Suggests the rules that a person most likely means by "always": by program and subcommand.

use super::{
    command::{only_wraps, parts},
    host::host_of,
    interpreters::runs_input,
    subject::Subject,
};
use crate::bash::policy::is_builtin;

/// The most rules that are suggested at once. A person reads no more.
const MOST: usize = 3;

/// Programs whose second word says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "bazel",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "nox",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rake",
    "rustup",
    "stack",
    "swift",
    "task",
    "terraform",
    "tox",
    "uv",
    "yarn",
];

/// Subcommands whose next word says what they do: `npm run test`.
const WITH_SCRIPTS: &[&str] = &["compose", "pr", "remote", "run", "run-script", "stash", "workspace"];

/// Programs that check, build or format a project and have no subcommands.
const TOOLS: &[&str] = &[
    "black",
    "clang-format",
    "ctest",
    "eslint",
    "flake8",
    "gofmt",
    "isort",
    "jest",
    "mocha",
    "mypy",
    "ninja",
    "phpunit",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "rubocop",
    "ruff",
    "rustfmt",
    "shellcheck",
    "tsc",
    "vitest",
];

/// Subcommands that run whatever their arguments say. A rule for all of those would allow everything.
const ARBITRARY: &[&str] = &[
    "bun exec",
    "bun run",
    "bun x",
    "bundle exec",
    "cargo +nightly",
    "deno eval",
    "deno run",
    "docker exec",
    "docker run",
    "gh api",
    "gh extension",
    "git bisect",
    "git config",
    "git filter-branch",
    "git submodule",
    "go generate",
    "go run",
    "helm plugin",
    "kubectl exec",
    "kubectl run",
    "mix run",
    "npm exec",
    "npm x",
    "pnpm dlx",
    "pnpm exec",
    "poetry run",
    "rustup run",
    "terraform console",
    "uv run",
    "uv tool",
    "yarn dlx",
    "yarn exec",
];

/// Subcommands of git that can throw work away, or do not, by what follows. Only the whole command says so.
const LOSING: &[&str] =
    &["branch", "checkout", "clean", "gc", "prune", "reflog", "reset", "restore", "switch", "update-ref", "worktree"];

/// Modules of Python that run the file or the text that they are given.
const RUNNING_MODULES: &[&str] =
    &["cProfile", "code", "idlelib", "pdb", "profile", "runpy", "timeit", "trace", "zipapp"];

/// Returns at most three rules that together allow this call and few others. Returns none if no rule can, or if it would take more.
pub(super) fn suggest(subject: &Subject) -> Vec<String> {
    let mut rules: Vec<String> = if subject.is_bash() {
        subject.more().iter().flat_map(|command| for_command(subject, command)).collect()
    } else if !subject.hosts.is_empty() && subject.names.iter().any(|name| name.eq_ignore_ascii_case("WebFetch")) {
        subject.hosts.iter().flatten().map(|host| format!("WebFetch(domain:{host})")).collect()
    } else if (subject.read_only || subject.is_edit()) && !subject.places.is_empty() {
        let tool = if subject.read_only { "Read" } else { "Edit" };
        let paths = subject.places.iter().filter_map(|place| subject.as_rule(place));
        paths.map(|path| format!("{tool}({path})")).collect()
    } else {
        subject.names.first().map(ToString::to_string).into_iter().collect()
    };
    let mut seen = std::collections::HashSet::new();
    rules.retain(|rule| seen.insert(rule.clone()));
    if rules.len() > MOST { Vec::new() } else { rules }
}

fn for_command(subject: &Subject, command: &str) -> Vec<String> {
    let (words, redirections) = parts(command);
    let mut rules = Vec::new();
    let text = words.join(" ");
    let is_program = words.first().is_some_and(|word| !word.contains('=') && !is_builtin(word));
    if is_program && !only_wraps(&text, subject.more()) && !subject.only_reads(&text) {
        // A `*` or a parenthesis of the command's own would mean something else in a rule.
        let literal = |text: &str| !text.contains(['*', '(', ')', '\n']);
        let known = meant(&words).filter(|start| literal(start));
        let rule = known.map(|start| format!("Bash({start} *)"));
        let exact = || (literal(&text) && !runs_input(&words)).then(|| format!("Bash({text})"));
        rules.extend(rule.or_else(exact));
    }
    for redirection in redirections.iter().filter(|redirection| !redirection.is_harmless()) {
        let path = subject.target(redirection).and_then(|place| subject.as_rule(&place));
        rules.extend(path.map(|path| format!("Edit({path})")));
    }
    rules
}

/// Returns the words that name the action, such as `cargo test`, `npm run test` or `.venv/bin/python -m pytest`, or `None` if
/// only the whole command does.
fn meant(words: &[&str]) -> Option<String> {
    let written = *words.first()?;
    // `.venv/bin/pytest` is `pytest`; the rule is about that file.
    let program = written.rsplit_once('/').map_or(written, |(_, name)| name);
    let plain = |word: &&&str| word.starts_with(|c: char| c.is_ascii_alphabetic()) && host_of(word).is_none();
    if TOOLS.contains(&program) {
        return Some(written.to_owned());
    }
    // A tool of the project, by the program that finds it.
    if let ("npx" | "bunx", Some(tool)) = (program, words.get(1).filter(|tool| TOOLS.contains(tool))) {
        return Some(format!("{program} {tool}"));
    }
    if let ("python" | "python3", Some(&"-m")) = (program, words.get(1)) {
        let module = words.get(2).filter(plain).filter(|module| !RUNNING_MODULES.contains(module))?;
        return Some(format!("{written} -m {module}"));
    }
    if !WITH_SUBCOMMANDS.contains(&program) {
        return None;
    }
    let second = words.get(1).filter(plain).filter(|second| program != "git" || !LOSING.contains(second))?;
    let (start, known) = (format!("{written} {second}"), format!("{program} {second}"));
    if WITH_SCRIPTS.contains(second) && !matches!(program, "cargo" | "dotnet" | "mix" | "swift") {
        // `deno run`, `uv run` and the like take any program.
        let names_script = matches!(program, "npm" | "pnpm" | "yarn" | "gh" | "git" | "docker");
        let third = words.get(2).filter(plain).filter(|_| names_script)?;
        return Some(format!("{start} {third}")).filter(|_| !ARBITRARY.contains(&&*known));
    }
    (!ARBITRARY.contains(&&*known)).then_some(start)
}
