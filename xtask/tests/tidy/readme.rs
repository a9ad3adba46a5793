//! The commands in the README exist: they are the first thing a new user types.

use crate::repo::{output_of, read};

#[test]
fn the_readme_shows_how_to_run_the_demo_and_the_tests() {
    let commands = commands(&read("README.md"));

    for promised in ["cargo run -- demo", "cargo xtask test"] {
        assert!(commands.iter().any(|command| command == promised), "README.md does not show `{promised}`");
    }
}

#[test]
fn the_readme_shows_the_picture_of_the_demo() {
    assert!(read("README.md").contains("](docs/demo.svg)"), "README.md does not show docs/demo.svg");
    assert!(read("docs/demo.svg").starts_with("<svg "), "docs/demo.svg is missing; run `cargo xtask picture`");
}

#[test]
fn every_cargo_command_in_the_readme_exists() {
    let known = listed(&output_of("cargo", &["--list"]));
    let tasks = listed(&output_of(env!("CARGO_BIN_EXE_xtask"), &["help"]));

    for command in commands(&read("README.md")) {
        let mut words = command.split_whitespace().skip(1).filter(|word| !word.starts_with('+'));
        let subcommand = words.next().unwrap_or_default();
        assert!(known.iter().any(|name| name == subcommand), "README.md: `{command}`: cargo has no `{subcommand}`");
        if subcommand == "xtask" {
            let task = words.next().unwrap_or_default();
            assert!(tasks.iter().any(|name| name == task), "README.md: `{command}`: xtask has no `{task}`");
        }
    }
}

#[test]
fn only_commands_in_console_blocks_are_checked() {
    let page = "cargo no\n```console\n$ cargo yes --now\nBuilt.\ncargo too\n```\n```rust\ncargo no\n```\n";

    assert_eq!(commands(page), ["cargo yes --now", "cargo too"]);
}

/// The `cargo …` lines of all console blocks, with or without a prompt before them.
fn commands(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = vec![];
    for line in page.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            inside = language == "console";
        } else if inside {
            let command = line.trim_start_matches("$ ");
            // Text after a `#` is a comment.
            let command = command.split(" #").next().unwrap_or(command).trim_end();
            commands.extend(command.starts_with("cargo ").then(|| command.to_owned()));
        }
    }
    commands
}

/// The first words of indented lines: both `cargo --list` and clap list their commands that way.
fn listed(help: &str) -> Vec<String> {
    let indented = help.lines().filter(|line| line.starts_with(' '));
    indented.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}
