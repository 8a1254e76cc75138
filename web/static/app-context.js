// What every part of the page can reach: the API, the model, the router, dialogs and messages.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useStore } from './store.js';

export const AppContext = createContext(null);

export function useApp() {
  return useContext(AppContext);
}

// useNow is the time, in steps of some seconds, so that ages stay right.
export function useNow() {
  return useStore(useApp().now);
}
