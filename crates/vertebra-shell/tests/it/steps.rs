//! The work to read a line is in proportion to its length, counted in steps.

use vertebra_shell::{ParseLimits, parse};

/// The most steps for each byte, and beside.
const MOST: (usize, usize) = (64, 4_000);

/// Texts that are hard to read when they are repeated.
const SHAPES: &[(&str, &str)] = &[
    ("a b; ", ""),
    ("a 'b' \"c\" $d | ", ""),
    ("$(", ")"),
    ("\"$(", ")\""),
    ("`", ""),
    ("${x:-", "}"),
    ("\"${x:-", "}\""),
    ("((", "))"),
    ("$((", "))"),
    ("( ", " )"),
    ("{ ", "; }"),
    ("{", ""),
    ("{a,", "}"),
    ("{a,b}", ""),
    ("[", ""),
    ("x=~:", ""),
    ("'", ""),
    ("\"", ""),
    ("\\", ""),
    ("<<E\n", ""),
    ("a <<E\nb\nE\n", ""),
    ("case x in ", "esac"),
    ("if a; then ", "; fi"),
    ("env ", ""),
    ("sudo env nice ", ""),
    ("sh -c ", ""),
    ("eval ", ""),
    ("eval eval '", ""),
    ("xargs ", ""),
    ("find -exec ", ";"),
    ("docker run x ", ""),
    ("git bisect run ", ""),
    ("git -x ", ""),
    ("git -c alias.x='!", "'"),
    ("ssh h ", ""),
    ("parallel ", ""),
    ("python -c 'system(\"a\")' ", ""),
    ("echo a | sh; ", ""),
    ("$x ", ""),
    ("$IFS{a,b}", ""),
    ("[[ ", " ]]"),
    ("x=(", ")"),
    ("@(", ")"),
    ("f() { ", "; }"),
    ("a & ", ""),
    ("> x ", ""),
    ("#\n", ""),
    ("é", ""),
];

#[test]
fn the_work_to_read_a_line_grows_with_its_length() {
    for (open, close) in SHAPES {
        for size in [1, 8, 63] {
            let times = size * 1024 / (open.len() + close.len());
            for line in [format!("{}a{}", open.repeat(times), close.repeat(times)), open.repeat(times)] {
                let steps = parse(&line, ParseLimits::default()).steps();
                let most = MOST.0 * line.len() + MOST.1;
                assert!(steps <= most, "{open:?} {close:?}: {steps} steps for {} bytes", line.len());
            }
        }
    }
}
