import DocumentModel
import SQLite

/// The session of a signed-in user, as the device stores it.
struct SavedSession: Sendable {
    var userId: String
    var refreshToken: String
    var accessToken: String
}

/// The session of an app on this device.
struct SessionStore: Sendable {
    private let database: SQLiteDatabase

    static func open(path: String) async throws -> SessionStore {
        do {
            let database = try await SQLiteDatabase.open(path: path)
            try await database.migrate([
                """
                CREATE TABLE sessions(
                    user_id TEXT PRIMARY KEY, refresh_token TEXT NOT NULL, access_token TEXT NOT NULL,
                    saved_at INTEGER NOT NULL
                ) WITHOUT ROWID
                """,
                "CREATE TABLE device(id TEXT NOT NULL)",
                // One user is signed in.
                "DELETE FROM sessions WHERE user_id <> (SELECT user_id FROM sessions ORDER BY saved_at DESC LIMIT 1)",
            ])
            return SessionStore(database: database)
        } catch {
            throw PartitaError(code: .store, message: "\(error)")
        }
    }

    /// The session of the user who is signed in.
    func current() async throws -> SavedSession? {
        let rows = try await database.query("SELECT user_id, refresh_token, access_token FROM sessions")
        return try rows.first.map {
            SavedSession(userId: try $0.decode(0), refreshToken: try $0.decode(1), accessToken: try $0.decode(2))
        }
    }

    /// Saves the session of a user who has signed in, in the place of any other.
    func save(_ session: SavedSession) async throws {
        let now = WallClock.system.now()
        try await database.transaction { database in
            _ = try database.execute("DELETE FROM sessions")
            _ = try database.execute(
                "INSERT INTO sessions(user_id, refresh_token, access_token, saved_at) VALUES (?, ?, ?, ?)",
                [.text(session.userId), .text(session.refreshToken), .text(session.accessToken), .integer(now)])
        }
    }

    /// Saves the tokens for which a session's refresh token was exchanged.
    ///
    /// - Returns: whether the session is still that of the signed-in user; otherwise nothing is saved.
    func renew(_ session: SavedSession, from former: String) async throws -> Bool {
        try await database.execute(
            "UPDATE sessions SET refresh_token = ?, access_token = ? WHERE user_id = ? AND refresh_token = ?",
            [.text(session.refreshToken), .text(session.accessToken), .text(session.userId), .text(former)]) > 0
    }

    /// The id that the backend gave this device at its last sign-in.
    func deviceId() async throws -> String? {
        try await database.query("SELECT id FROM device").first?.decode(0)
    }

    func saveDeviceId(_ id: String) async throws {
        if try await deviceId() == id { return }
        _ = try await database.execute("DELETE FROM device")
        _ = try await database.execute("INSERT INTO device(id) VALUES (?)", [.text(id)])
    }

    func remove(_ userId: String) async throws {
        _ = try await database.execute("DELETE FROM sessions WHERE user_id = ?", [.text(userId)])
    }
}
