//! Tests of claims.

use super::*;

fn words(refused: Result<NameClaim, ClaimRefused>) -> String {
    Failure::from(refused.unwrap_err()).to_string()
}

#[test]
fn a_name_is_claimed_once_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.bl");
    let first = NameClaim::take(&target, false, Access::Owner).unwrap();
    for force in [false, true] {
        let said = words(NameClaim::take(&target, force, Access::Owner));
        assert!(said.contains("another broadleaf command"), "{said}");
    }
    // Another name is free.
    let other = folder.path().join("y.bl");
    drop(NameClaim::take(&other, false, Access::Owner).unwrap());
    drop(first);
    drop(NameClaim::take(&target, false, Access::Owner).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_named_file_is_still_claimed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.bl");
    let mut first = NameClaim::take(&target, false, Access::Owner).unwrap();
    first.rename_to(&target).unwrap();
    let said = words(NameClaim::take(&target, true, Access::Owner));
    assert!(said.contains("another broadleaf command"), "{said}");
}

/// A signal removes the unfinished files. A thread that ends the process waits for the same
/// lock.
#[test]
fn a_finished_file_is_out_of_the_reach_of_signals_before_it_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.bl");
    let mut claim = NameClaim::take(&target, false, Access::Owner).unwrap();
    let signal = crate::unfinished::hold();
    let settling = std::thread::spawn(move || claim.settle());
    for _ in 0..30 {
        std::thread::sleep(Duration::from_millis(10));
        assert!(!target.exists());
    }
    drop(signal);
    settling.join().unwrap().unwrap();
    assert!(target.exists());
}

#[test]
fn orphans_go_and_living_claims_stay() {
    let folder = tempfile::tempdir().unwrap();
    let living = NameClaim::take(&folder.path().join("x.bl"), false, Access::Owner).unwrap();
    let orphan = folder.path().join(claim_name(Path::new("y.bl")));
    let other = folder.path().join(".broadleaf-notes");
    fs::write(&orphan, "").unwrap();
    fs::write(&other, "").unwrap();
    sweep(folder.path());
    assert!(!orphan.exists() && other.exists() && living.at().exists());
    // A directory cannot be claimed, and the message names it.
    fs::create_dir(&orphan).unwrap();
    let said = words(NameClaim::take(
        &folder.path().join("y.bl"),
        false,
        Access::Owner,
    ));
    assert!(
        said.contains(&format!("remove {}", shown(&orphan))),
        "{said}"
    );
    fs::remove_dir(&orphan).unwrap();
    // A claim takes an orphan's place.
    fs::write(&orphan, "").unwrap();
    drop(NameClaim::take(&folder.path().join("y.bl"), false, Access::Owner).unwrap());
    assert!(!orphan.exists());
}
