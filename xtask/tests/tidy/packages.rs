//! Checks that the library crates can be packaged. This builds them from their packages, which takes minutes:
//! `cargo package -p vertebra-hooks -p vertebra-macros -p vertebra-shell -p vertebra-wake -p vertebra -p vertebra-kit
//! -p vertebra-models -p vertebra-journal -p vertebra-bridge -p vertebra-server`.

use serde_json::{Value, json};

use crate::{
    arrows::{OUTSIDE, name, packages},
    expect_none,
    repo::Complaints,
};

#[test]
fn every_library_crate_says_what_a_package_needs() {
    let packages = packages();
    let is_library = |package: &&Value| {
        let name = name(package);
        name != "vertebra-cli" && name != "bench-harness" && !OUTSIDE.contains(&name)
    };
    let libraries: Vec<&Value> = packages.iter().filter(is_library).collect();
    assert!(libraries.len() >= 10, "the packages were not read");

    expect_none(&libraries.into_iter().flat_map(lacking).collect());
}

#[test]
fn a_crate_that_cannot_be_packaged_is_noticed() {
    let dependency = |kind: Value, req: &str| json!({ "name": "b", "kind": kind, "path": "/b", "req": req });
    let crate_with = |publish: Value, description: Value, dependency: Value| {
        json!({
            "name": "a", "description": description, "license": "MIT", "publish": publish, "dependencies": [dependency],
        })
    };
    let good = dependency(Value::Null, "^0.1.0");
    let cases = [
        (crate_with(Value::Null, "does it".into(), good.clone()), 0),
        (crate_with(Value::Null, "does it".into(), dependency("dev".into(), "*")), 0),
        (crate_with(json!([]), "does it".into(), good.clone()), 1),
        (crate_with(Value::Null, Value::Null, good), 1),
        (crate_with(Value::Null, "does it".into(), dependency(Value::Null, "*")), 1),
    ];
    for (package, expected) in cases {
        assert_eq!(lacking(&package).len(), expected, "{package}");
    }
}

/// What a package lacks that `cargo package` asks for.
fn lacking(package: &Value) -> Complaints {
    let mut complaints = Complaints::new();
    for field in ["description", "license"] {
        if !package[field].is_string() {
            complaints.push(format!("{}: `{field}` is missing in its Cargo.toml", name(package)));
        }
    }
    if package["publish"].is_array() {
        complaints.push(format!("{}: remove `publish` from its Cargo.toml, or it cannot be packaged", name(package)));
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let is_local = dependency["path"].is_string() && dependency["kind"] != "dev";
        if is_local && dependency["req"] == "*" {
            complaints.push(format!(
                "{}: its dependency `{}` has a path and no version; add the version in the Cargo.toml of the workspace",
                name(package),
                name(dependency)
            ));
        }
    }
    complaints
}
