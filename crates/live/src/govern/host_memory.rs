//! The memory of a virtual machine that its host takes back.

use std::fs;
use std::path::Path;

/// The folder of the devices that a host gives to its virtual machine.
pub(super) const VIRTIO_DEVICES: &str = "/sys/bus/virtio/devices";
/// The number of a balloon (virtio 1.3, section 5.5).
const BALLOON: &str = "0x0005";
/// The bit of a balloon that reports free pages to the host (virtio 1.3, section 5.5.3).
const REPORTS_FREE_PAGES: usize = 5;

/// The meaning of [`takes_free_memory`] for a measurement.
pub(super) const TAKES_FREE_MEMORY: &str = "the host takes back free memory of this virtual \
     machine (free page reporting). The first touch of such memory takes ten times as long or \
     more. Before each run, free memory is touched, so that the host maps it again";

/// Returns true if one of the `devices` gives free memory to the host. The host maps such memory
/// again at its first touch.
pub(super) fn takes_free_memory(devices: &Path) -> bool {
    let Ok(entries) = fs::read_dir(devices) else {
        return false;
    };
    let mut devices = entries.filter_map(|entry| Some(entry.ok()?.path()));
    devices.any(|device| {
        let read = |name: &str| fs::read_to_string(device.join(name)).unwrap_or_default();
        // One digit for each feature that both sides have agreed on, the first feature first.
        let reports = read("features").as_bytes().get(REPORTS_FREE_PAGES) == Some(&b'1');
        reports && read("device").trim() == BALLOON
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balloon_that_reports_free_pages_takes_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!takes_free_memory(&folder.path().join("none")));
        for (device, features, takes) in [
            ("0x0005\n", "01100101000\n", true),
            ("0x0005\n", "01100001000\n", false),
            ("0x0005\n", "", false),
            // The bit of another device means something else.
            ("0x0001\n", "01100101000\n", false),
        ] {
            let balloon = folder.path().join("virtio0");
            fs::create_dir_all(&balloon).expect("a folder");
            fs::write(balloon.join("device"), device).expect("a file");
            fs::write(balloon.join("features"), features).expect("a file");
            assert_eq!(
                takes_free_memory(folder.path()),
                takes,
                "{device} {features}"
            );
        }
    }
}
