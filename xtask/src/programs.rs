//! The programs that the tests start. Missing ones are installed where that is allowed, and named where it is not.

use crate::stage::{Report, Stage, answers};

/// A program, how to see that it is there, and the Debian package that has it.
struct Program {
    probe: &'static str,
    package: &'static str,
}

const PROGRAMS: [Program; 9] = [
    Program { probe: "bash --version", package: "bash" },
    Program { probe: "git --version", package: "git" },
    Program { probe: "jq --version", package: "jq" },
    Program { probe: "npm --version", package: "npm" },
    Program { probe: "python3 --version", package: "python3" },
    Program { probe: "ruby --version", package: "ruby" },
    Program { probe: "valgrind --version", package: "valgrind" },
    Program { probe: "python3 -m pip --version", package: "python3-pip" },
    Program { probe: "python3 -m ensurepip --version", package: "python3-venv" },
];

/// Makes sure that all programs are there. Otherwise returns what a person has to do.
pub(crate) fn get() -> Result<(), String> {
    let missing = missing(answers);
    if missing.is_empty() {
        return Ok(());
    }
    let can_install = answers("apt-get --version") && answers("test -w /var/lib/dpkg/lock-frontend");
    if can_install && Report::of(stages(&missing)).passed() {
        return Ok(());
    }
    Err(instruction(&missing))
}

fn missing(is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    PROGRAMS.iter().filter(|program| !is_there(program.probe)).map(|program| program.package).collect()
}

fn stages(packages: &[&str]) -> Vec<Stage> {
    vec![
        Stage::new("package lists", "apt-get update"),
        Stage::new("get programs", "apt-get install --yes --no-install-recommends").args(packages),
    ]
}

fn instruction(packages: &[&str]) -> String {
    format!(
        "the tests need programs that are not installed; on Debian or Ubuntu run:\n  sudo apt-get install {}",
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_missing_if_every_program_answers() {
        assert!(missing(|_| true).is_empty());
    }

    #[test]
    fn the_missing_programs_are_one_line_for_a_person_to_run() {
        let missing = missing(|probe| !probe.contains("python3 -m") && probe != "npm --version");

        assert_eq!(missing, ["npm", "python3-pip", "python3-venv"]);
        assert!(instruction(&missing).ends_with("\n  sudo apt-get install npm python3-pip python3-venv"));
        assert_eq!(
            stages(&missing)[1].to_string(),
            "apt-get install --yes --no-install-recommends npm python3-pip python3-venv"
        );
    }
}
