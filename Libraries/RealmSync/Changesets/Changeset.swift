/// What one transaction changed: instructions, and the strings that they name.
///
/// On the wire it is a sequence of instructions without header, length or checksum; an empty one has no bytes
/// (Realm sync protocol, changeset format). Texts are kept as bytes.
public struct Changeset: Sendable {
    /// Its strings.
    public var strings = InternStrings()
    /// Its instructions in their order. They refer to `strings`.
    public var instructions: [Instruction] = []

    /// No instructions.
    public init() {}
}

/// How much of a changeset from outside is read.
public struct ChangesetLimits: Sendable {
    /// The most bytes.
    public var bytes: Int
    /// The most instructions.
    public var instructions: Int
    /// The most interned strings.
    public var strings: Int
    /// The most elements of one path.
    public var pathElements: Int

    /// Those of a changeset that is trusted.
    static let none = ChangesetLimits(bytes: .max, instructions: .max, strings: .max, pathElements: .max)

    /// The defaults: a client sends at most 16 MiB in one message, and nests collections at most 100 deep.
    public init(
        bytes: Int = 16 << 20, instructions: Int = 1_000_000, strings: Int = 100_000, pathElements: Int = 200
    ) {
        self.bytes = bytes
        self.instructions = instructions
        self.strings = strings
        self.pathElements = pathElements
    }
}
