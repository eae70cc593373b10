/// The SQL that `pg_restore` makes of a dump.
public enum PostgresScript {
    /// How much of a script has all the settings that it begins with.
    public static let beginning = 8192

    /// Whether a script of this version of `pg_restore` has a setting that a server of this version doesn't know: from 17 on it sets
    /// `transaction_timeout`, whatever the server is.
    public static func hasUnknownSetting(_ program: Int, for server: Int) -> Bool { program >= 17 && server < 17 }

    /// Removes that setting.
    /// - Parameter script: the beginning of the script.
    public static func removeUnknownSetting(from script: inout [UInt8]) {
        let line = "\nSET transaction_timeout = 0;"
        guard let range = script.firstRange(of: Array((line + "\n").utf8)) else { return }
        script.removeSubrange(range.lowerBound..<range.lowerBound + line.utf8.count)
    }
}
