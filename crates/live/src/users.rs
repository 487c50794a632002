//! Names of users.

/// The name of a user, or the user's number if the user has no name.
pub(crate) fn user_name(uid: u32) -> String {
    uzers::get_user_by_uid(uid).map_or_else(
        || uid.to_string(),
        |user| user.name().to_string_lossy().into_owned(),
    )
}
