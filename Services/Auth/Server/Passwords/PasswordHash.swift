/// A password's hash, as auth made it or another system did: argon2, scrypt and PBKDF2 in the PHC string format
/// (github.com/P-H-C/phc-string-format), PBKDF2 also as Python's passlib writes it, and bcrypt (`$2a$`, `$2b$`, `$2y$`).
///
/// The costs are bounded, since whoever signs in has the hash computed.
enum PasswordHash: Sendable {
    /// argon2id or argon2i.
    case argon2(String)
    case bcrypt(String)
    case scrypt(digest: [UInt8], salt: [UInt8], cost: ScryptCost)
    case pbkdf2(digest: [UInt8], salt: [UInt8], function: PBKDF2Function, iterations: Int)

    /// The longest accepted text, in bytes.
    static let maximumBytes = 512

    /// - Returns: `nil` for any other format, and for costs beyond the bounds.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, parts[0].isEmpty else { return nil }
        switch parts[1] {
        case "argon2id", "argon2i": self.init(argon2: text, parts)
        case "2a", "2b", "2y": self.init(bcrypt: text, parts)
        case "scrypt": self.init(scrypt: parts)
        case "pbkdf2", "pbkdf2-sha1", "pbkdf2-sha256", "pbkdf2-sha512": self.init(pbkdf2: parts)
        default: return nil
        }
    }

    /// Whether it is the password's. It takes as long as the costs say, so it isn't called on a loop.
    func matches(_ password: String) -> Bool {
        switch self {
        case .argon2(let text): Sodium.verifyPassword(password, hash: text)
        case .bcrypt(let text): ForeignDigests.isCrypt(text, of: password)
        case .scrypt(let digest, let salt, let cost):
            ForeignDigests.scrypt(password, salt: salt, cost: cost, count: digest.count)
                .map { Sodium.areEqual($0, digest) } ?? false
        case .pbkdf2(let digest, let salt, let function, let iterations):
            ForeignDigests.pbkdf2(
                password, salt: salt, function: function, iterations: iterations, count: digest.count
            ).map { Sodium.areEqual($0, digest) } ?? false
        }
    }

    /// Whether auth would make another one of the same password today.
    func isOutdated(operations: Int, memoryBytes: Int) -> Bool {
        guard case .argon2(let text) = self, text.hasPrefix("$argon2id$") else { return true }
        return Sodium.needsRehash(text, operations: operations, memoryBytes: memoryBytes)
    }

    // MARK: Formats

    private init?(argon2 text: String, _ parts: [String]) {
        // $argon2id$v=19$m=19456,t=2,p=1$salt$digest
        guard parts.count == 6, parts[2] == "v=19", let costs = Self.parameters(parts[3], ["m", "t", "p"]),
            (8...(256 << 10)).contains(costs[0]), (1...64).contains(costs[1]), (1...16).contains(costs[2]),
            costs[0] * costs[1] <= 1 << 20, Self.bytes(parts[4]) != nil, Self.digest(parts[5]) != nil
        else { return nil }
        self = .argon2(text)
    }

    private init?(bcrypt text: String, _ parts: [String]) {
        // $2b$12$ and 53 characters of salt and digest
        guard parts.count == 4, parts[2].utf8.count == 2, let cost = Int(parts[2]), (4...14).contains(cost),
            parts[3].utf8.count == 53
        else { return nil }
        self = .bcrypt(text)
    }

    private init?(scrypt parts: [String]) {
        // $scrypt$ln=16,r=8,p=1$salt$digest
        guard parts.count == 5, let costs = Self.parameters(parts[2], ["ln", "r", "p"]), (1...20).contains(costs[0]),
            (1...32).contains(costs[1]), (1...16).contains(costs[2]), let salt = Self.bytes(parts[3]),
            let digest = Self.digest(parts[4])
        else { return nil }
        let cost = ScryptCost(n: 1 << costs[0], r: costs[1], p: costs[2])
        guard cost.memoryBytes <= 256 << 20, cost.memoryBytes * cost.p <= 1 << 30 else { return nil }
        self = .scrypt(digest: digest, salt: salt, cost: cost)
    }

    private init?(pbkdf2 parts: [String]) {
        // $pbkdf2-sha256$i=600000,l=32$salt$digest; passlib writes only the number of iterations.
        let names = Int(parts[2]) != nil ? nil : parts[2].split(separator: ",").map(String.init)
        let count = names.map { $0.first.flatMap { Self.number($0, "i") } } ?? Int(parts[2])
        guard parts.count == 5, let iterations = count, (1...2_000_000).contains(iterations),
            let salt = Self.bytes(parts[3]), let digest = Self.digest(parts[4]),
            let function = PBKDF2Function(name: parts[1])
        else { return nil }
        if let names, names.count > 1 {
            guard names.count == 2, Self.number(names[1], "l") == digest.count else { return nil }
        }
        self = .pbkdf2(digest: digest, salt: salt, function: function, iterations: iterations)
    }

    private static func parameters(_ text: String, _ names: [String]) -> [Int]? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == names.count else { return nil }
        let numbers = zip(parts, names).compactMap { number($0, $1) }
        return numbers.count == names.count ? numbers : nil
    }

    private static func number(_ text: String, _ name: String) -> Int? {
        guard text.startsWithBytes(of: name + "="), text.utf8.count <= 16 else { return nil }
        return Int(text.dropFirst(name.count + 1))
    }

    private static func digest(_ text: String) -> [UInt8]? {
        bytes(text).flatMap { (16...128).contains($0.count) ? $0 : nil }
    }

    /// Base64 without padding, in which passlib has a dot for the plus.
    private static func bytes(_ text: String) -> [UInt8]? {
        let bytes = Base64.decodeUnpadded(text.replacing(".", with: "+"))
        return bytes.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The costs of scrypt (RFC 7914 §2).
struct ScryptCost: Sendable {
    var n: Int
    var r: Int
    var p: Int

    var memoryBytes: Int { 128 * n * r }
}

/// The function that PBKDF2 iterates (RFC 8018 §5.2).
enum PBKDF2Function: String, Sendable {
    case sha1, sha256, sha512

    /// - Parameter name: as in hashes; without a suffix it is SHA-1.
    init?(name: String) {
        self.init(rawValue: name == "pbkdf2" ? "sha1" : String(name.dropFirst("pbkdf2-".count)))
    }
}
