//! What the reader says of words, redirections, and of lines that it does not read as a whole.

use vertebra_shell::{
    CommandLine, Completeness, Joint, ParseLimits, Piece, Redirect, SimpleCommand, UnknownKind, Via, Word, parse,
};

fn read(line: &str) -> CommandLine {
    parse(line, ParseLimits::default())
}

#[test]
fn a_word_has_a_value_only_if_no_piece_of_it_is_unknown() {
    for (word, known) in [
        ("a", Some("a")),
        ("'a b'\"c\"d\\ e", Some("a bcd e")),
        ("$'\\x41\\n'", Some("A\n")),
        ("'$x*'", Some("$x*")),
        ("\"a*~{b,c}\"", Some("a*~{b,c}")),
        ("{}", Some("{}")),
        ("{a}", Some("{a}")),
        ("[", Some("[")),
        ("a$", Some("a$")),
        ("a~b", Some("a~b")),
        ("$x", None),
        ("\"$x\"", None),
        ("a*", None),
        ("a?", None),
        ("[ab]", None),
        ("{a,b}", None),
        ("a{1..3}", None),
        ("~/a", None),
        ("~", None),
        ("x=~/a", None),
        ("`a`", None),
        ("\"$(a)\"", None),
        ("$((1))", None),
        ("<(a)", None),
        ("@(a|b)", None),
        ("$'\\xff'", None),
    ] {
        let line = read(&format!("p {word}"));
        assert_eq!(line.commands()[0].words()[1].known(), known, "{word}");
    }
}

#[test]
fn a_word_is_resolved_with_the_values_of_variables() {
    let value = |name: &str| match name {
        "HOME" => Some("/home/me"),
        "x" => Some("1"),
        _ => None,
    };
    for (word, resolved) in [
        ("~/a/$x\"${x}\"", Some("/home/me/a/11")),
        ("'$x'$x", Some("$x1")),
        ("$xy", None),
        ("${x:-2}", None),
        ("~other", None),
        ("\"~\"", Some("~")),
        ("$1", None),
    ] {
        let line = read(&format!("p {word}"));
        assert_eq!(line.commands()[0].words()[1].resolve(value).as_deref(), resolved, "{word}");
    }
    let line = read("a\"b$x\"*");
    let pieces: Vec<_> = line.commands()[0].words()[0].pieces().collect();
    let unknown = |kind, written| Piece::Unknown(kind, written);
    assert_eq!(pieces, [Piece::Text("ab"), unknown(UnknownKind::Variable, "$x"), unknown(UnknownKind::Pattern, "*")],);
}

#[test]
fn a_word_knows_its_place_in_the_line() {
    let line = "a 'b c' \"$(d e)\" `f` | (g; h x) && sh -c 'i'";
    let parsed = read(line);
    let places = parsed.commands().iter().flat_map(SimpleCommand::words).filter_map(Word::span);
    let places: Vec<&str> = places.map(|span| &line[span]).collect();
    let words = ["a", "'b c'", "\"$(d e)\"", "`f`", "d", "e", "f", "g", "h", "x", "sh", "-c", "'i'"];
    assert_eq!(places, words);
}

#[test]
fn a_command_has_assignments_a_program_and_arguments() {
    let parsed = read("A=1 B+='x y' c[0]=2 p A=3");
    let command = &parsed.commands()[0];
    let names: Vec<&str> = command.assignments().map(|(name, _)| name).collect();
    assert_eq!(names, ["A", "B", "c"]);
    let argv: Vec<&str> = command.argv().iter().map(Word::text).collect();
    assert_eq!(argv, ["p", "A=3"]);
}

#[test]
fn a_redirection_says_whether_it_reads_or_writes_a_file() {
    for (line, reads, writes) in [
        ("a > x", false, true),
        ("a 2>> x", false, true),
        ("a >| x", false, true),
        ("a &> x", false, true),
        ("a >& x", false, true),
        ("a 2>&1", false, false),
        ("a >&-", false, false),
        ("a 3>&2-", false, false),
        ("a < x", true, false),
        ("a <> x", true, true),
        ("a <&3", false, false),
        ("a <<< x", false, false),
        ("a << x\nx", false, false),
        ("> x", false, true),
    ] {
        let parsed = read(line);
        let redirect: &Redirect = &parsed.commands()[0].redirects()[0];
        assert_eq!((redirect.reads(), redirect.writes()), (reads, writes), "{line}");
    }
}

#[test]
fn a_command_says_how_it_comes_to_run() {
    let parsed = parse("p0 \"$(p1; p2)\" | (sudo p3); sh -c 'p4 | p5'", ParseLimits::default());
    let told: Vec<_> = parsed
        .commands()
        .iter()
        .map(|command| {
            let outer = command.outer().map(|outer| parsed.commands()[outer].words()[0].text().to_owned());
            (command.text(), command.via(), command.subshell(), outer)
        })
        .collect();
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(
        told,
        [
            ("p0 $(p1; p2)".to_owned(), Via::Line, 0, None),
            ("p1".to_owned(), Via::Substitution, 1, some("p0")),
            ("p2".to_owned(), Via::Substitution, 1, some("p0")),
            ("sudo p3".to_owned(), Via::Line, 1, None),
            ("p3".to_owned(), Via::Wrapper, 1, some("sudo")),
            ("sh -c p4 | p5".to_owned(), Via::Line, 0, None),
            ("p4".to_owned(), Via::Script, 0, some("sh")),
            ("p5".to_owned(), Via::Script, 0, some("sh")),
        ]
    );
}

#[test]
fn what_stands_between_commands_is_told() {
    let parsed = read("a; b && c || d | e |& f & g\nh; if i; then j; fi | k");
    let joints: Vec<_> = parsed.commands().iter().map(|command| (command.text(), command.joint())).collect();
    let expected = [
        ("a", Joint::First),
        ("b", Joint::Then),
        ("c", Joint::And),
        ("d", Joint::Or),
        ("e", Joint::Pipe),
        ("f", Joint::Pipe),
        ("g", Joint::Background),
        ("h", Joint::Then),
        ("i", Joint::Then),
        ("j", Joint::Then),
        ("k", Joint::Pipe),
    ];
    assert_eq!(joints, expected.map(|(text, joint)| (text.to_owned(), joint)));
}

#[test]
fn every_word_of_a_line_is_there_whatever_it_belongs_to() {
    let parsed = read("for i in a 'b c'; do p > d; done; case e in f|g) ;; esac; [[ -n h ]]; x=(j k); q < l");
    let words: Vec<&str> = parsed.words().map(Word::text).collect();
    for word in ["a", "b c", "p", "d", "e", "f", "g", "h", "j", "k", "q", "l"] {
        assert!(words.contains(&word), "{word}: {words:?}");
    }
    let read: Vec<&str> = parsed.read_words().map(Word::text).collect();
    assert!(read.contains(&"l") && !read.contains(&"d"));
    let parsed = self::read("cat <<A - <<-'B'; q\na $x\nA\n\tb\n\tB\n");
    let texts: Vec<_> = parsed.documents().iter().map(|document| (document.command, &*document.text)).collect();
    assert_eq!(texts, [(Some(0), "a $x\n"), (Some(0), "\tb\n")]);
}

#[test]
fn what_was_not_read_is_said() {
    let nested = |depth: usize| format!("{}a{}", "$(".repeat(depth), ")".repeat(depth));
    for (line, completeness) in [
        ("a | b".to_owned(), Completeness::Whole),
        ("a 'b".to_owned(), Completeness::Broken),
        ("a $(b".to_owned(), Completeness::Broken),
        ("a )".to_owned(), Completeness::Broken),
        (nested(15), Completeness::Whole),
        (nested(17), Completeness::TooDeep),
        ("a;".repeat(1001), Completeness::TooMany),
        (format!("a; b {}", "c ".repeat(40_000)), Completeness::TooLong),
        (format!("a {}", "c ".repeat(40_000)), Completeness::Whole),
    ] {
        let parsed = read(&line);
        assert_eq!(parsed.completeness(), completeness, "{line:.40}");
        let is_read = matches!(completeness, Completeness::Whole | Completeness::Broken);
        assert_eq!(parsed.is_beyond_reading(), !is_read, "{line:.40}");
    }
    assert!(read("a 'b; c").commands().iter().any(|command| command.via() == Via::Guess));
}

#[test]
fn quoted_letters_hide_nothing() {
    for line in ["'a*' b", "\\$x y", "'{a,b}'", "echo '{\"a\": 1, \"b\": 2}'", "apt install parallel", "man xargs"] {
        let parsed = read(line);
        assert_eq!((parsed.hidden(), parsed.commands().len()), (None, 1), "{line}");
    }
    assert!(read("xargs sudo < x").hidden().is_some() && read("uv run parallel < x").hidden().is_some());
}
