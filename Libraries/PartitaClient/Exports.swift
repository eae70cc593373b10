// An app that imports PartitaClient has the values that documents are made of, and the types of what it reads here.
@_exported import DocumentModel
@_exported import SyncEngine
