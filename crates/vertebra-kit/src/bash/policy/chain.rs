//! Lists and pipelines as bash groups them: `|` binds first, then `&&` and `||`, and a redirection belongs to the command before
//! it. The grammar has them in their order, but not so: it puts a redirection around the whole list before it, and the rest of
//! the line of a here-document inside of that.

use tree_sitter::Node;

use super::walk::children;

/// A command of a pipeline.
pub(super) struct Stage<'t> {
    /// None if there are only redirections.
    pub(super) body: Option<Node<'t>>,
    pub(super) redirects: Vec<Node<'t>>,
}

/// A pipeline of one command or more.
#[derive(Default)]
pub(super) struct Pipeline<'t> {
    /// Whether `||` precedes it.
    pub(super) is_else: bool,
    pub(super) stages: Vec<Stage<'t>>,
}

impl<'t> Pipeline<'t> {
    /// The only command, if it is one without redirections.
    pub(super) fn plain(&self) -> Option<Node<'t>> {
        match &self.stages[..] {
            [Stage { body, redirects }] if redirects.is_empty() => *body,
            _ => None,
        }
    }
}

/// The pipelines of a list, of a pipeline, or of a statement with redirections.
pub(super) fn chain(node: Node<'_>) -> Vec<Pipeline<'_>> {
    let mut pipelines = vec![Pipeline::default()];
    // Whether the next node is another command.
    let mut begins = true;
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        let first = nodes.len();
        match node.kind() {
            "comment" => {}
            "list" | "pipeline" | "redirected_statement" => nodes.extend(children(node)),
            operator @ ("&&" | "||") => {
                pipelines.push(Pipeline { is_else: operator == "||", stages: Vec::new() });
                begins = true;
            }
            "|" | "|&" => begins = true,
            kind if node.is_named() => {
                let is_redirect = kind.ends_with("_redirect");
                if kind == "heredoc_redirect" {
                    nodes.extend(children(node).skip_while(|part| !goes_on(*part)).take_while(|part| !is_text(*part)));
                }
                if let Some(Pipeline { stages, .. }) = pipelines.last_mut() {
                    match stages.last_mut().filter(|_| !begins) {
                        Some(stage) => stage.redirects.push(node),
                        None if is_redirect => stages.push(Stage { body: None, redirects: vec![node] }),
                        None => stages.push(Stage { body: Some(node), redirects: Vec::new() }),
                    }
                }
                begins = false;
            }
            _ => {}
        }
        nodes[first..].reverse();
    }
    pipelines
}

/// Whether a part of a here-document begins the rest of its line.
pub(super) fn goes_on(part: Node<'_>) -> bool {
    matches!(part.kind(), "pipeline" | "&&" | "||")
}

fn is_text(part: Node<'_>) -> bool {
    matches!(part.kind(), "heredoc_body" | "heredoc_end")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use proptest::prelude::*;
    use vertebra::testing::FakeClock;

    use super::super::{Ground, judge::follow};

    /// How many folders named `a` are in each other; commands begin in the middle.
    const DEEP: usize = 24;

    /// Where bash ends, and where the policy thinks it does.
    #[expect(clippy::disallowed_methods, reason = "bash ends by itself and prints little")]
    fn ends(root: &Path, command: &str) -> (String, String) {
        let start = root.join("a/".repeat(DEEP / 2)).canonicalize().expect("a path");
        let script = format!("{command}\nwait; pwd -P >\"$OUT\"");
        let out = root.join("out");
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(&start).env("OUT", &out).output().expect("bash runs");
        let real = fs::read_to_string(&out).expect("bash ended").trim_end().to_owned();
        let ground =
            Ground { here: start.display().to_string(), ..Ground::new(root.display().to_string(), "/home/user") };
        let clock = FakeClock::new();
        let judge = follow(command, &ground, &clock);
        (real, judge.scope.cwd.path.clone().unwrap_or_default())
    }

    fn folders() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("a/".repeat(DEEP))).expect("folders");
        root
    }

    #[test]
    fn the_policy_ends_in_the_folder_in_which_bash_ends() {
        let root = folders();
        for command in [
            "cd a && pwd 2>&1 | cat",
            "cd a; pwd >/dev/null | cat",
            "false || cd a 2>&1 | cat && cd a",
            "! false && cd a && pwd 2>&1 | cat",
            "cd a && pwd 2>&1 |& cat",
            "cd a && pwd | cat 2>&1 | cat",
            "cd a && pwd 2>&1 | cat 2>&1 | cat && cd a 2>&1",
            "cd a && cat <<E | cat\ntext\nE",
            "cd a && cat <<E | cat && cd a\ntext\nE",
            "cat <<E && cd a && pwd 2>&1 | cat\ntext\nE",
            "cat <<E | false || cd a\ntext\nE\ncd a",
            "cd a <<E | cd a\ntext\nE",
            "cat <<'E' | cd a 2>&1 | cat && cd ..\ntext\nE",
            "cd a && cat 2>&1 <<E | cat\ntext\nE",
            "cd a && { cd a; } 2>&1 | cat",
            "if cd a && pwd 2>&1 | cat; then cd a; fi",
            "cd a && pwd 2>&1 | cat & cd a",
            "pwd | cat | cat\ncd a 2>&1 && pwd",
            "cd a | cd a | cd a | cd a\ncd a 2>&1 && cd a 2>&1\ncd a",
            "pwd | cat | cat\ncd a 2>&1 | cat && cd a",
        ] {
            let (real, thought) = ends(root.path(), command);
            assert_eq!(thought, real, "{command}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn of_any_list_the_policy_knows_the_last_folder(parts in prop::collection::vec((
            prop::sample::select(vec!["cd a", "cd a", "cd ..", "pwd", "{ cd a; }", "(cd a)", "true"]),
            prop::sample::select(vec!["", " 2>&1", " >/dev/null", " </dev/null", " 2>&1 >/dev/null"]),
            // Each of these goes on with what follows.
            prop::sample::select(vec![" && ", "; ", "\n", " | ", " |& ", " & ", " || true && ", " | false || ", " && ! false && "]),
        ), 1..9)) {
            let root = folders();
            let command: String = parts.iter().flat_map(|(command, redirect, joint)| [*command, *redirect, *joint]).collect();
            let command = format!("{command}true");
            let (real, thought) = ends(root.path(), &command);
            prop_assert_eq!(thought, real, "{}", command);
        }
    }
}
