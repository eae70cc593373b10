import Testing

/// One after the other: they share one service, whose object store one of them switches off.
@Suite(.serialized)
enum MediaOffloadTests {}
