//! A grammar for bash: every command that it finds is in the list.

use proptest::{prelude::*, test_runner::TestRunner};
use tree_sitter::{Node, Parser};
use vertebra_shell::{ParseLimits, parse};

use crate::{
    bash::accepts,
    lines::{list, nearly_valid},
};

const KEYWORDS: &[&str] =
    &["case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while"];

/// The names of the commands in a valid text, as they are written. Nothing, if the grammar does not take it.
fn names(line: &str) -> Vec<String> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("a language of this version");
    let tree = parser.parse(line, None).expect("no deadline");
    let mut found = Vec::new();
    // The grammar ends a word where a line is continued, and takes `[[` behind `time` for a program.
    let misread = line.contains("\\\n") || (line.contains("time ") && line.contains("[["));
    if !tree.root_node().has_error() && !misread {
        collect(tree.root_node(), line, &mut found);
    }
    found
}

fn collect(node: Node<'_>, line: &str, found: &mut Vec<String>) {
    if node.kind() == "command_name" {
        found.push(line[node.byte_range()].to_owned());
    }
    let mut cursor = node.walk();
    let children: Vec<_> = node.children(&mut cursor).collect();
    for child in children {
        collect(child, line, found);
    }
}

#[test]
fn a_command_that_a_grammar_finds_is_listed() {
    let config = ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() };
    let lines = prop_oneof![list(), nearly_valid()];
    let check = |line: String| {
        let parsed = parse(&line, ParseLimits::default());
        for name in names(&line) {
            // Only bash knows the name that quotes and expansions result in. In some places, the grammar takes a keyword for a
            // program.
            if KEYWORDS.contains(&&*name) || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                continue;
            }
            let mut programs = parsed.commands().iter().filter_map(|command| command.argv().first());
            let is_listed = programs.any(|word| word.text() == name);
            // The grammar takes some lines that bash does not.
            prop_assert!(is_listed || !accepts(&line), "{name} of {line:?}: {:#?}", parsed.texts());
        }
        Ok(())
    };
    TestRunner::new(config).run(&lines, check).unwrap_or_else(|error| panic!("{error}"));
}
