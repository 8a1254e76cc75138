// The context of all components: the API, the model, the router, dialogs and messages.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useStore } from './store.js';

export const AppContext = createContext(null);

export function useApp() {
  return useContext(AppContext);
}

// useNow returns the time, updated every few seconds, for the display of ages.
export function useNow() {
  return useStore(useApp().now);
}
