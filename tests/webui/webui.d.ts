// What the tests use of the WebUI's page: its global bindings.
declare const S: {
  _bootReady: boolean;
  busy: boolean;
  activeStreamId: string | null;
  session: { session_id: string };
};
declare function switchPanel(name: string): Promise<void>;
declare function cmdYolo(): Promise<void>;
