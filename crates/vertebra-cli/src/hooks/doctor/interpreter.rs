//! Finds the script among the arguments of an interpreter.

/// Interpreters, and the letters of their options that do not take a script or code.
const INTERPRETERS: &[(&[&str], &str)] = &[
    (&["sh", "bash", "dash", "zsh"], "abefhiklmnprtuvxBCEHPT"),
    (&["python", "python3"], "bBdEiIOPqRsSuvx"),
    (&["node", "deno", "bun", "ruby", "perl", "php", "pwsh"], ""),
];

/// Returns the script, if the arguments clearly name one; with `-c` or `-m` they do not.
pub(super) fn script_of<'a>(program: &str, arguments: &'a [String]) -> Option<&'a str> {
    let (_, letters) = INTERPRETERS.iter().find(|(names, _)| names.contains(&program))?;
    let is_harmless = |option: &str| {
        let short = option.strip_prefix('-').filter(|short| !short.is_empty());
        short.is_some_and(|short| short.chars().all(|letter| letters.contains(letter)))
            || (option.starts_with("--") && option.contains('='))
    };
    let script = arguments.iter().map(String::as_str).find(|word| !is_harmless(word))?;
    let is_code = script.contains(|letter: char| letter.is_whitespace() || ";|&$(){}*?`".contains(letter));
    let is_file = script.contains('/') || script.contains('.');
    (is_file && !is_code && !script.starts_with('-')).then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_argument_that_is_clearly_a_script_is_treated_as_one() {
        for (line, script) in [
            ("python3 hooks/a.py --x", Some("hooks/a.py")),
            ("python3 -u -B hooks/a.py", Some("hooks/a.py")),
            ("python3 -m json.tool", None),
            ("python3 -c import.this", None),
            ("python3 - x.py", None),
            ("bash -eu a.sh", Some("a.sh")),
            ("bash -c ./a.sh", None),
            ("bash -euc ./a.sh", None),
            ("node --max-old-space-size=64 a.js", Some("a.js")),
            ("node --require ./b.js a.js", None),
            ("node -e require('./a')", None),
            ("bun run lint", None),
            ("jq .tool_input.command", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(script_of(&words[0], &words[1..]), script, "{line}");
        }
    }
}
