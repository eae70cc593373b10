extension ObjectSchema {
    /// The classes that a changeset makes in a file that has none.
    /// - Throws: ``ApplyError``.
    public init(made changeset: Changeset) throws(ApplyError) {
        var objects = PartitionObjects()
        try objects.apply(changeset)
        self = objects.schema
    }
}
