//! What becomes of the file one names: made for its owner, recognised, refused, brought up to date.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use vertebra::JournalFault;
use vertebra_journal::Store;

use crate::support::*;

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[tokio::test]
async fn a_new_journal_is_its_owners_alone() {
    let area = Area::new();
    let path = area.folder.path().join("state/vertebra/journal.db");
    let store = Store::open(&path, &OFTEN).expect("a journal");
    write(&store, [began("s")]).await;
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        assert_eq!(mode(path.with_file_name(file)), 0o600, "{file}");
    }
    for folder in ["state", "state/vertebra", "state/vertebra/journal.db.holders"] {
        assert_eq!(mode(area.folder.path().join(folder)), 0o700, "{folder}");
    }
    for file in fs::read_dir(path.with_file_name("journal.db.holders")).expect("a folder") {
        assert_eq!(mode(file.expect("a file").path()), 0o600);
    }
}

#[test]
fn a_folder_that_was_there_stays_as_it_is() {
    let area = Area::new();
    fs::set_permissions(area.folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    area.open();
    assert_eq!(mode(area.folder.path()), 0o755);
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_stays_as_it_is() {
    let words = "no journal of ours ".repeat(1000).into_bytes();
    let area = Area::new();
    area.sql("CREATE TABLE recipes (name TEXT)");
    let recipes = fs::read(area.path()).expect("a file");
    let cases = [
        (words, JournalFault::Corrupt, "file is not a database"),
        (b"short".to_vec(), JournalFault::Corrupt, "file is not a database"),
        (recipes, JournalFault::Failed, "a SQLite file of another program, and not a journal"),
    ];
    for (content, kind, words) in cases {
        let area = Area::new();
        fs::write(area.path(), &content).expect("a file");
        for result in [Store::open(area.path(), &OFTEN), Store::read_only(area.path())] {
            let error = result.expect_err("no journal");
            assert_eq!(error.kind, kind);
            assert!(error.message.contains(words) && error.message.contains("journal.db"), "{error}");
        }
        assert_eq!(fs::read(area.path()).expect("a file"), content);
        assert_eq!(fs::read_dir(area.folder.path()).expect("a folder").count(), 1, "nothing was left beside it");
    }
}

#[test]
fn a_journal_of_a_newer_program_is_refused_with_what_helps() {
    let area = Area::new();
    area.open();
    area.sql("PRAGMA user_version = 99");
    for result in [Store::open(area.path(), &OFTEN), Store::read_only(area.path())] {
        let error = result.expect_err("too new");
        let words = "written by a newer Vertebra: its format is 99, and this one knows up to 1; update, and try again";
        assert!(error.message.ends_with(words), "{error}");
    }
}

#[test]
fn an_empty_file_becomes_a_journal_and_a_missing_one_is_not_made_by_readers() {
    let area = Area::new();
    let error = Store::read_only(area.path()).expect_err("nothing there");
    assert!(error.message.ends_with("journal.db: there is no such file"), "{error}");
    assert!(!area.path().exists());
    fs::write(area.path(), "").expect("a file");
    assert!(Store::read_only(area.path()).expect_err("empty").message.ends_with("the file is empty"));
    area.open();
    Store::read_only(area.path()).expect("a journal");
}

#[test]
fn a_folder_in_the_place_of_the_file_is_said() {
    let area = Area::new();
    fs::create_dir(area.path()).expect("a folder");
    let error = Store::open(area.path(), &OFTEN).expect_err("a folder");
    assert!(error.message.contains("journal.db"), "{error}");
}

#[test]
fn many_can_make_the_same_journal_at_once() {
    let area = Area::new();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(area.path(), &OFTEN))).collect();
        for opened in opening {
            opened.join().expect("no panic").expect("a journal");
        }
    });
}
